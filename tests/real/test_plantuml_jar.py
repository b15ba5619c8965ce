"""The real PlantUML reads what we encode. One start of Java decodes a whole batch."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from plantuml_vectors import VECTORS
from processes import run
from real.witness import SOURCE, TOOL, run_outside
from signet.toolsets.plantuml.encoding import encode

JAR = "/usr/share/plantuml/plantuml.jar"
OPENED, CLOSED = "@startuml\n@startuml\n", "@enduml\n@enduml\n"
"""The 2020 jar puts a second pair of markers round every text it decodes."""

_names = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789", min_size=1, max_size=12)
_words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=40)
_lines = st.builds("{} -> {} : {}".format, _names, _names, _words)
diagrams = st.lists(_lines, min_size=1, max_size=20).map(lambda lines: "\n".join(["@startuml", *lines, "@enduml"]))


def _decoded(*encoded: str) -> list[str]:
    """What the jar reads in each string, without the markers."""
    light = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    text = ("-Djava.awt.headless=true", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8")
    done = run_outside("java", *light, *text, "-jar", JAR, "-decodeurl", *encoded)
    assert done.returncode == 0, done.stderr
    texts = done.stdout.removeprefix(OPENED).removesuffix(CLOSED).split(CLOSED + OPENED)
    return [text.removesuffix("\n") for text in texts]


def _body(text: str) -> str:
    """The text as the jar prints it: no markers, LF line ends, no blanks round it."""
    return text.replace("\r\n", "\n").strip().removeprefix("@startuml").removesuffix("@enduml").strip()


def test_the_jar_decodes_every_golden_text_it_can() -> None:
    """All but G14, whose stored block this version of the jar takes for another format."""
    texts = [vector.text for vector in VECTORS.values() if vector.jar != "fails"]

    decoded = _decoded(*map(encode, texts))

    assert len(texts) == 14
    assert decoded == [_body(text) for text in texts]


def test_the_jar_decodes_what_the_command_prints() -> None:
    """From our command line to theirs."""
    done = run("call", TOOL, f"plantumlCode={SOURCE}")

    decoded = _decoded(json.loads(done.stdout)["encoded"])

    assert decoded == [_body(SOURCE)]


@settings(max_examples=2)
@given(st.lists(diagrams, min_size=40, max_size=80))
def test_the_jar_decodes_any_diagram(texts: list[str]) -> None:
    """Strings of every length modulo four, in every script; a leading 0 is the stored block of G14."""
    encoded = {text: encode(text) for text in texts}
    readable = {text: string for text, string in encoded.items() if not string.startswith("0")}

    decoded = _decoded(*readable.values())

    assert decoded == [_body(text) for text in readable]
