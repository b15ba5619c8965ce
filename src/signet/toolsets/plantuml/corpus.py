"""The parity corpus of the PlantUML tools."""

from __future__ import annotations

from typing import Final

from signet.kernel.toolset import CorpusRow

__all__ = ["ROWS"]

DIAGRAM: Final = "@startuml\nAlice -> Bob: hello\n@enduml"
LARGE: Final = "@startuml\n" + "".join(f"A{n} -> B{n}: message {n}\n" for n in range(1500)) + "@enduml"
"""Large enough to be encoded in a thread."""
TOO_LARGE_CHARS: Final = 51_201


ROWS: Final[tuple[CorpusRow, ...]] = (
    ("a diagram", "encodePlantUML", {"plantumlCode": DIAGRAM}),
    ("a large diagram", "encodePlantUML", {"plantumlCode": LARGE}),
    ("a diagram beyond ASCII", "encodePlantUML", {"plantumlCode": "@startuml\nさくら --> Zoë: 🌸 ≠ \\u0000\n@enduml"}),
    (
        "a diagram and more",
        "encodePlantUML",
        {"plantumlCode": DIAGRAM, "theme": "plain", "deep": {"n": [1, 2.5, None]}},
    ),
    ("no diagram", "encodePlantUML", {}),
    ("an empty diagram", "encodePlantUML", {"plantumlCode": " \n\u3000"}),
    ("a diagram that is a number", "encodePlantUML", {"plantumlCode": 42}),
    ("a diagram that is too large", "encodePlantUML", {"plantumlCode": "A" * TOO_LARGE_CHARS}),
    ("a null for a diagram", "encodePlantUML", {"plantumlCode": None}),
)
