"""The parity corpus of the tools around PlantUML diagrams."""

from __future__ import annotations

from typing import Final

from signet.kernel.toolset import CorpusRow

__all__ = ["ROWS"]

SEQUENCE: Final = "@startuml\nAlice -> Bob: hello\n@enduml"
CLASSES: Final = "@startuml\nclass A {\n  +name: String\n}\nclass B\nA --> B: uses\n@enduml"
BROKEN: Final = "' a comment\n@startuml\nAlice -> Bob: hello\nthis is no arrow\n@enduml"
LINK: Final = "https://www.plantuml.com/plantuml/png/SoWkIImgAStDuNBAJrBGjLDmpCbCJbMmKiX8pSd9vt98pKi1IW80"

ROWS: Final[tuple[CorpusRow, ...]] = (
    ("a link", "decodePlantUML", {"encoded": LINK}),
    ("an encoded text", "decodePlantUML", {"encoded": "SrJGjLDm0W00"}),
    ("a text in hexadecimal", "decodePlantUML", {"encoded": "~h41202d3e2042"}),
    ("a text that is not encoded", "decodePlantUML", {"encoded": "A -> B"}),
    ("a text that is cut off", "decodePlantUML", {"encoded": "SoWkIImgAStDuN"}),
    ("nothing to decode", "decodePlantUML", {"encoded": None}),
    ("a good diagram", "checkPlantUML", {"plantumlCode": SEQUENCE}),
    ("a good diagram of classes", "checkPlantUML", {"plantumlCode": CLASSES}),
    ("a broken diagram", "checkPlantUML", {"plantumlCode": BROKEN}),
    ("a diagram without an end", "checkPlantUML", {"plantumlCode": "@startuml\nA -> B"}),
    ("an include", "checkPlantUML", {"plantumlCode": "@startuml\n!include /etc/hostname\n@enduml"}),
    ("a diagram of nothing", "checkPlantUML", {"plantumlCode": " \n"}),
    ("a picture", "renderPlantUML", {"plantumlCode": SEQUENCE}),
    ("a dark picture", "renderPlantUML", {"plantumlCode": SEQUENCE, "dark": True, "format": "svg"}),
    ("a picture of classes", "renderPlantUML", {"plantumlCode": CLASSES, "format": "svg", "dark": None}),
    ("a picture as PNG", "renderPlantUML", {"plantumlCode": SEQUENCE, "format": "png"}),
    ("a picture of a broken diagram", "renderPlantUML", {"plantumlCode": BROKEN}),
    ("a picture in no format", "renderPlantUML", {"plantumlCode": SEQUENCE, "format": "gif"}),
    ("a link to a picture", "linkPlantUML", {"plantumlCode": SEQUENCE, "format": "png"}),
    ("a link to another server", "linkPlantUML", {"plantumlCode": SEQUENCE, "server": "http://127.0.0.1:8080/render"}),
    ("a link to no server", "linkPlantUML", {"plantumlCode": SEQUENCE, "server": "example"}),
)
