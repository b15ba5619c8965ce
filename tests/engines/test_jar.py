"""The jar: what JavaScript lacks is drawn in a process of Java, which no diagram can leave or share."""

from __future__ import annotations

import base64
import getpass
import os
import re
import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from diagram_harness import SECRET, Canary, Diagrams, diagrams
from signet.engines import engine

SEQUENCE = "@startuml\nAlice -> Bob: hi é\n@enduml"


@pytest.fixture(scope="module")
def jar() -> Iterator[Diagrams]:
    """A server on whose machine the files of the JavaScript engine are not there."""
    with diagrams(plantuml_render_timeout_s="30") as harness:
        with pytest.MonkeyPatch.context() as patch:
            # The engines are looked for once, with the first diagram; other servers of this file find theirs.
            patch.setattr("signet.engines.assets.find_assets", lambda: None)
            harness.result("renderPlantUML", plantumlCode=SEQUENCE)
        yield harness


def test_the_jar_alone_draws_every_format(jar: Diagrams) -> None:
    svg, png, txt = (jar.result("renderPlantUML", plantumlCode=SEQUENCE, format=form) for form in ("svg", "png", "txt"))

    assert "Alice" in svg["data"]
    assert "OpenJDK" not in svg["data"]
    assert base64.b64decode(png["data"]).startswith(b"\x89PNG")
    assert "│Alice│" in txt["data"]
    assert "hi é" in txt["data"]
    assert (txt["width"], txt["height"]) == (max(map(len, txt["data"].splitlines())), 8)


@pytest.fixture(scope="module")
def both() -> Iterator[Diagrams]:
    """A server with both engines."""
    with diagrams(plantuml_render_timeout_s="30") as harness:
        yield harness


def test_a_kind_that_javascript_lacks_is_drawn_as_a_picture_too(jar: Diagrams) -> None:
    source = "@startsalt\n{[OK]}\n@endsalt"

    assert base64.b64decode(jar.result("renderPlantUML", plantumlCode=source, format="png")["data"])[:4] == b"\x89PNG"


@pytest.mark.parametrize("rest", ["", "\nC -> D\nD -> E"])
def test_an_error_has_its_line(jar: Diagrams, rest: str) -> None:
    """The picture of an error in a diagram of five lines or more has no head."""
    checked = jar.result("checkPlantUML", plantumlCode=f"' x\n@startuml\nA -> B\nfoo bar{rest}\n@enduml")

    assert checked["errors"] == [{"line": 4, "message": "Syntax Error?", "source": "foo bar"}]


def test_no_diagram_reads_a_file_or_an_address(jar: Diagrams, tmp_path: Path) -> None:
    lines = ("!include {file}", "!includeurl {url}/x", 'A -> B: <img:{file}> %getenv("HOME")', "!import {file}")
    canary = Canary(tmp_path)
    outcomes = {
        line: jar.call("renderPlantUML", plantumlCode=canary.placed(f"@startuml\n{line}\nC -> D\n@enduml"))
        for line in lines
    }
    after = jar.result("renderPlantUML", plantumlCode=SEQUENCE)
    canary.close()

    assert [line for line, outcome in outcomes.items() if outcome.fault is None] == []
    assert SECRET not in str([outcome.result or outcome.fault for outcome in outcomes.values()])
    assert canary.visits == []
    assert "Alice" in after["data"]


def test_what_a_diagram_knows_of_its_process_does_not_part_pictures_and_diagrams(
    jar: Diagrams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all arguments of the process in its text, a diagram could end its own picture early, and begin the next."""
    monkeypatch.setattr("signet.engines.jar.GETENV", re.compile("(?!)"), raising=False)
    hostile = '@startuml\n!$x = %getenv("sun.java.command")\nA -> B: $x behind\n@enduml'

    drawn = jar.result("renderPlantUML", plantumlCode=hostile)["data"]
    other = jar.result("renderPlantUML", plantumlCode="@startuml\nV0 -> W: own\n@enduml")["data"]

    assert "behind" in drawn
    assert (">V0<" in other, "behind" in other) == (True, False)


@pytest.mark.parametrize("name", ["user.home", "user.name", "sun.java.command", "java.home", "HOME", "GRAPHVIZ_DOT"])
def test_no_diagram_reads_a_property_or_a_variable(jar: Diagrams, name: str) -> None:
    outcome = jar.call("renderPlantUML", plantumlCode=f'@startuml\nA -> B: [%getenv("{name}")]\n@enduml')

    assert outcome.fault is not None
    assert outcome.fault.message == "line 2: a diagram may not use %getenv"


def test_the_names_of_the_user_are_not_in_the_process(jar: Diagrams, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that becomes %getenv in the preprocessor alone learns nothing of the user."""
    monkeypatch.setattr("signet.engines.jar.GETENV", re.compile("(?!)"), raising=False)
    source = '@startuml\nA -> B: [%getenv("user.home")]\nA -> B: [%getenv("user.name")]\n@enduml'
    drawn = jar.result("renderPlantUML", plantumlCode=source)["data"]

    assert "[signet]" in drawn
    assert f"[{os.path.expanduser('~')}]" not in drawn
    assert f"[{getpass.getuser()}]" not in drawn


def test_a_mind_map_is_drawn_by_the_jar_too(jar: Diagrams) -> None:
    """The jar looks for a file of styles in its folder, which is empty."""
    drawn = jar.result("renderPlantUML", plantumlCode="@startmindmap\n* root\n** leaf\n@endmindmap")

    assert "leaf" in drawn["data"]


@pytest.mark.parametrize("tool", ["checkPlantUML", "renderPlantUML"])
@pytest.mark.parametrize("kind", ["math", "latex", "jcckit"])
def test_a_formula_that_the_jar_cannot_draw_is_no_error_of_its_text(jar: Diagrams, kind: str, tool: str) -> None:
    outcome = jar.call(tool, plantumlCode=f"@start{kind}\nx^2\n@end{kind}")

    assert outcome.fault is not None
    assert outcome.fault.name == "NO_ENGINE"
    assert outcome.fault.message.startswith("the PlantUML jar cannot draw this kind of diagram here; set ")


def test_pictures_and_diagrams_stay_in_pairs(jar: Diagrams) -> None:
    """Each of these lines ends or begins a diagram for PlantUML: the next caller would get this caller's picture."""
    lines = (" * @enduml", "\\startuml", "<b>@startuml", "@pause")
    outcomes = [
        jar.call("renderPlantUML", plantumlCode=f"@startuml\nA -> B\n{line}\nMine -> Mine\n@enduml") for line in lines
    ]
    after = jar.result("renderPlantUML", plantumlCode=SEQUENCE)

    told = [outcome.fault.message[:8] if outcome.fault else None for outcome in outcomes]
    assert told == ["line 3: "] * 4
    assert "Alice" in after["data"]


def test_a_diagram_that_ends_the_process_ends_alone(jar: Diagrams) -> None:
    recursion = "@startuml\n!function f()\n!return f()\n!endfunction\nA->B: f()\n@enduml"

    outcome = jar.call("renderPlantUML", plantumlCode=recursion)
    after = jar.result("renderPlantUML", plantumlCode=SEQUENCE)

    assert outcome.fault is not None
    assert outcome.fault.name in {"DIAGRAM_TOO_LARGE", "DIAGRAM_ERROR"}
    assert "Alice" in after["data"]


def test_a_jar_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jar"
    broken.write_bytes(b"no jar")
    with pytest.MonkeyPatch.context() as patch, diagrams(plantuml_jar=str(broken)) as harness:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        outcome = harness.call("renderPlantUML", plantumlCode=SEQUENCE)

    assert outcome.fault is not None
    assert outcome.fault.name == "ENGINE_FAILED"
    assert f"{broken} does not start" in outcome.fault.message


def test_without_any_engine_one_sentence_says_what_to_type() -> None:
    with pytest.MonkeyPatch.context() as patch, diagrams(plantuml_jar="/nowhere.jar") as harness:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        outcome = harness.call("renderPlantUML", plantumlCode=SEQUENCE)
        rows = engine.choices(harness.server.pipeline._runtimes["plantuml.render"].settings, None)

    assert outcome.fault is not None
    assert (outcome.fault.name, outcome.fault.status, outcome.fault.as_tool_result) == ("NO_ENGINE", 503, True)
    assert "signet doctor shows how to install one" in outcome.fault.message
    assert [(row.name, row.usable) for row in rows] == [("server", False), ("JavaScript", False), ("jar", False)]


def test_javascript_and_the_jar_share_the_work(both: Diagrams) -> None:
    """What JavaScript lacks comes from the jar, in one server."""
    text = both.result("renderPlantUML", plantumlCode=SEQUENCE, format="txt")
    salt = both.result("renderPlantUML", plantumlCode="@startsalt\n{[OK]}\n@endsalt")
    new = both.result("checkPlantUML", plantumlCode='@startjson\n{"a": 1}\n@endjson')

    assert "Alice" in text["data"]
    assert "OK" in salt["data"]
    assert new == {"ok": True, "errors": [], "diagram": "json"}


@pytest.mark.parametrize(
    "source",
    [
        "@startditaa\n+--+\n|OK|\n+--+\n@endditaa",
        "@startuml\nsalt\n{[OK]}\n@enduml",
        "@STARTSALT\n{[OK]}\n@ENDSALT",
    ],
)
def test_the_jar_is_asked_for_every_kind_that_javascript_lacks(both: Diagrams, source: str) -> None:
    drawn = both.result("renderPlantUML", plantumlCode=source)

    assert "OK" in drawn["data"]
    assert (drawn["width"] > 10, drawn["height"] > 10) == (True, True)


def test_a_link_in_a_picture_runs_nothing(jar: Diagrams) -> None:
    source = (
        "@startuml\nA -> B: [[javascript:alert(1) one]] [[https://example.org/x two]] [[mailto:a@b.c three]]\n@enduml"
    )
    drawn = jar.result("renderPlantUML", plantumlCode=source)["data"]

    links = {value for node in ET.fromstring(drawn).iter() for name, value in node.attrib.items() if "href" in name}
    assert links == {"https://example.org/x", "mailto:a@b.c"}


def test_a_kind_that_the_jar_does_not_know_is_no_picture(jar: Diagrams) -> None:
    """A jar from 2020 has a picture for it, with one line of text."""
    outcome = jar.call("renderPlantUML", plantumlCode="@startfoo\nx\n@endfoo")

    assert outcome.fault is not None
    assert outcome.fault.message.startswith("this PlantUML jar does not know this kind of diagram")


@pytest.fixture(scope="module")
def without_graphviz() -> Iterator[Diagrams]:
    """A server with the jar alone, on a machine without Graphviz."""
    which = shutil.which
    with diagrams(plantuml_render_timeout_s="30") as harness, pytest.MonkeyPatch.context() as patch:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        patch.setattr("shutil.which", lambda name: "/nowhere/dot" if name == "dot" else which(name))
        yield harness


@pytest.mark.parametrize("tool", ["checkPlantUML", "renderPlantUML"])
@pytest.mark.parametrize(
    "source",
    [
        "@startuml\nclass A\nA --> B\n@enduml",
        "@startdot\ndigraph G {\na -> b\n}\n@enddot",
        "@startchen\nentity A {\n}\n@endchen",
    ],
)
def test_a_diagram_that_the_engine_cannot_draw_is_not_called_wrong(
    without_graphviz: Diagrams, tool: str, source: str
) -> None:
    """A model that is told of an error would change a text that is right."""
    fault = without_graphviz.call(tool, plantumlCode=source).fault

    assert fault is not None
    assert (fault.name, fault.status, fault.as_tool_result) == ("NO_ENGINE", 503, True)
    assert "--plantuml-server URL" in fault.message


def test_a_label_with_the_words_of_a_missing_graphviz_is_drawn(without_graphviz: Diagrams) -> None:
    source = "@startuml\nA -> B: Cannot find Graphviz\nB -> A: Dot Executable\n@enduml"

    assert without_graphviz.result("checkPlantUML", plantumlCode=source)["ok"] is True


def test_a_wrong_diagram_of_a_kind_that_needs_graphviz_is_still_called_wrong(without_graphviz: Diagrams) -> None:
    checked = without_graphviz.result("checkPlantUML", plantumlCode="@startuml\nclass A\nfoo bar baz\n@enduml")

    assert [error["line"] for error in checked["errors"]] == [3]


PROPERTIES = ("user.dir", "user.home", "user.name", "java.class.path", "java.security.policy", "sun.java.command",
              "os.version", "java.library.path", "HOME", "PATH", "PWD", "USER", "SIGNET_TOKEN", "OJ_TOKEN")  # fmt: skip
SPELLINGS = (
    '%call_user_func("%get" + "env", "{name}")',
    '%get\\\nenv("{name}")',
)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_however_it_is_spelled_what_a_diagram_reads_tells_nothing(
    spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule about %getenv is one of spelling; what is behind it is empty, or names nothing of the machine."""
    monkeypatch.setenv("SIGNET_TOKEN", SECRET)
    monkeypatch.setenv("OJ_TOKEN", SECRET)
    lines = [f"A -> B: {name} is [{spelling.replace('{name}', name)}]" for name in PROPERTIES]
    source = "@startuml\n" + "\n".join(lines) + "\n@enduml"
    with pytest.MonkeyPatch.context() as patch, diagrams(plantuml_render_timeout_s="30") as harness:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        drawn = harness.result("renderPlantUML", plantumlCode=source)["data"]

    found = dict(re.findall(r">([\w.]+) is \[([^<]*)\]<", drawn))
    link = "/proc/self/cwd"
    assert found == dict.fromkeys(PROPERTIES, "") | {
        "user.dir": link,
        "user.home": link,
        "user.name": "signet",
        "java.class.path": f"{link}/plantuml.jar",
        "java.security.policy": f"={link}/policy",
        "sun.java.command": f"{link}/plantuml.jar -pipe -tsvg -charset UTF-8",
    }
    assert SECRET not in drawn


DOT = """#!/bin/sh
case "$*" in *-V*) echo "dot - graphviz version 2.43.0 (0)" >&2; exit 0;; esac
while read -r line; do :; done
echo '<svg xmlns="http://www.w3.org/2000/svg" width="8pt" height="8pt"><text>it is ['"$0"]'</text></svg>'
"""


def test_graphviz_is_started_by_a_name_that_tells_nothing(tmp_path: Path) -> None:
    """Its folder may have the name of a user; a diagram can read the variable with which the jar finds it."""
    dot, which = tmp_path / "dot", shutil.which
    dot.write_text(DOT)
    dot.chmod(0o755)
    name = '%call_user_func("%get" + "env", "GRAPHVIZ_DOT")'
    sources = (f"@startuml\nA -> B: it is [{name}]\n@enduml", "@startdot\ndigraph G {\na -> b\n}\n@enddot")
    with pytest.MonkeyPatch.context() as patch, diagrams(plantuml_render_timeout_s="30") as harness:
        patch.setattr("signet.engines.assets.find_assets", lambda: None)
        patch.setattr("shutil.which", lambda name: str(dot) if name == "dot" else which(name))
        told = [harness.result("renderPlantUML", plantumlCode=source)["data"] for source in sources]

    assert [re.findall(r"it is \[([^<]*)\]", text) for text in told] == [["/proc/self/cwd/dot"]] * 2


@pytest.mark.parametrize(
    "line",
    ["A -> B: <img:x.png>", "A -> B: <img:../../x.png>", "!include x.txt", "!import x.zip", "!$x = %get\\\nenv(",
     "sprite $x x.png", "listsprites", "testdot", "!exit"],
)  # fmt: skip
def test_no_error_tells_the_folder_of_the_process(jar: Diagrams, line: str) -> None:
    source = f"@startuml\n{line}\nC -> D\n@enduml"
    checked = jar.call("checkPlantUML", plantumlCode=source)
    rendered = jar.call("renderPlantUML", plantumlCode=source)

    told = str([(one.result or one.fault, getattr(one.fault, "data", "")) for one in (checked, rendered)])
    assert [text for text in ("signet-engine-", "/proc/self", tempfile.gettempdir()) if text in told] == []


def test_a_refused_file_has_the_name_that_the_diagram_gave_it(jar: Diagrams) -> None:
    outcome = jar.call("renderPlantUML", plantumlCode="@startuml\nA -> B: <img:x.png>\n@enduml")

    assert outcome.fault is not None
    assert outcome.fault.message == "a diagram may not use x.png"
