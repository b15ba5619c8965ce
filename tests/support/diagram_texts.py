"""Diagrams of all common kinds, written for the tests: good ones by name, broken ones with the line that is wrong."""

from __future__ import annotations

__all__ = ["BROKEN", "GOOD", "HOSTILE"]


def uml(body: str) -> str:
    return f"@startuml\n{body.strip()}\n@enduml"


def other(kind: str, body: str) -> str:
    return f"@start{kind}\n{body.strip()}\n@end{kind}"


GOOD: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # name: (kind, source, texts that must be in the picture)
    "sequence": (
        "sequence",
        uml("Alice -> Bob: Authentication Request\nBob --> Alice: Response"),
        ("Alice", "Response"),
    ),
    "sequence-participants": (
        "sequence",
        uml("actor User\nparticipant API\ndatabase DB\nUser -> API: GET /orders\nAPI -> DB: select\nDB --> API: rows"),
        ("User", "GET /orders"),
    ),
    "sequence-groups": (
        "sequence",
        uml("A -> B: ask\nalt good\n  B --> A: yes\nelse bad\n  B --> A: no\nend\nloop 3 times\n  A -> A: think\nend"),
        ("good", "3 times"),
    ),
    "sequence-activation": (
        "sequence",
        uml("autonumber\nA -> B ++: call\nB -> C ++: call\nreturn done\nreturn done\nnote right of A: waits"),
        ("done", "waits"),
    ),
    "sequence-title": (
        "sequence",
        uml("title The title\nheader Head\nfooter Foot\nA -> B\n== Later ==\nB -> A"),
        ("Later",),
    ),
    "sequence-box": (
        "sequence",
        uml('box "Inside" #LightBlue\nparticipant P\nparticipant Q\nend box\nP -> Q: go\nQ ->x P: lost\n...later...'),
        ("Inside", "lost"),
    ),
    "sequence-colours": (
        "sequence",
        uml("skinparam backgroundColor #FFFFE0\nA -[#red]> B: <color:blue>blue</color>"),
        ("blue",),
    ),
    "sequence-unicode": (
        "sequence",
        uml("participant さくら\nさくら -> Zoë: こんにちは 世界\nZoë --> さくら: ≠ ✓ €"),
        ("こんにちは 世界",),
    ),
    "sequence-long": ("sequence", uml("\n".join(f"A -> B: message {n}" for n in range(40))), ("message 39",)),
    "sequence-teoz": ("sequence", uml("!pragma teoz true\nA -> B: one\n& B -> C: two"), ("two",)),
    "class": (
        "class",
        uml("class Order {\n  +id: int\n  -total(): Money\n}\nclass Line\nOrder *-- Line: has"),
        ("Order", "has"),
    ),
    "class-inheritance": (
        "class",
        uml("abstract class Shape\ninterface Drawable\nShape <|-- Circle\nShape <|-- Square\nDrawable <|.. Shape"),
        ("Drawable",),
    ),
    "class-packages": ("class", uml("package a.b {\n  class C\n}\npackage d {\n  class E\n}\nC --> E"), ("a",)),
    "class-notes": (
        "class",
        uml("class A\nnote left of A: a note\nnote as N\n  more **bold** text\nend note\nA .. N"),
        ("a note",),
    ),
    "class-generic": (
        "class",
        uml("class Box<T> {\n  T item\n}\nenum Colour {\n  RED\n  GREEN\n}\nBox --> Colour"),
        ("RED",),
    ),
    "class-cardinality": ("class", uml('A "1" *-- "many" B : contains\nB o-- C : aggregation'), ("many",)),
    "class-skin": (
        "class",
        uml("skinparam class {\n  BackgroundColor PaleGreen\n  BorderColor Green\n}\nclass A\nA --> B"),
        ("A",),
    ),
    "class-hide": (
        "class",
        uml("hide empty members\nleft to right direction\nclass A\nclass B {\n  x\n}\nA --> B"),
        ("B",),
    ),
    "class-theme": ("class", uml("!theme cerulean\nclass A\nclass B\nA --> B"), ("A",)),
    "object": (
        "class",
        uml('object user {\n  name = "Ann"\n  id = 123\n}\nobject order\nuser --> order'),
        ("id = 123",),
    ),
    "map": ("class", uml("map Capitals {\n  UK => London\n  JP => Tokyo\n}"), ("London",)),
    "usecase": (
        "component",
        uml("left to right direction\nactor Guest\nusecase (Check out) as UC\nGuest --> UC"),
        ("Guest",),
    ),
    "usecase-package": (
        "component",
        uml("actor A\nrectangle Shop {\n  (Buy)\n  (Pay)\n}\nA --> (Buy)\n(Buy) .> (Pay): include"),
        ("Pay",),
    ),
    "component": (
        "component",
        uml("[Web] --> [API]: HTTP\ndatabase Store\n[API] --> Store\ninterface Log\n[API] - Log"),
        ("Web", "HTTP"),
    ),
    "component-nested": (
        "component",
        uml("node Host {\n  [A]\n  [B]\n}\ncloud Net {\n  [C]\n}\nA --> C\nB ..> C: later"),
        ("Host",),
    ),
    "deployment": (
        "component",
        uml(
            "node Server\nartifact App\nfolder Files\nqueue Jobs\nstack S\nServer --> App\nApp --> Jobs\nJobs --> Files"
        ),
        ("Jobs",),
    ),
    "deployment-shapes": (
        "component",
        uml("actor a\nagent b\nboundary c\ncard d\ncollections e\ncontrol f\nentity g\nfile h\nframe i\nperson k"),
        ("k",),
    ),
    "er": (
        "class",
        uml("entity User {\n  * id: int <<new>>\n  --\n  name: text\n}\nentity Post {\n  * id\n}\nUser ||--o{ Post"),
        ("Post",),
    ),
    "state": (
        "state",
        uml("[*] --> Open\nOpen --> Closed: close\nClosed --> Open: open\nClosed --> [*]"),
        ("Open", "close"),
    ),
    "state-nested": (
        "state",
        uml("state Active {\n  [*] --> Idle\n  Idle --> Busy: work\n}\n[*] --> Active\nActive --> [*]"),
        ("Busy",),
    ),
    "state-fork": (
        "state",
        uml("state f <<fork>>\nstate j <<join>>\n[*] --> f\nf --> A\nf --> B\nA --> j\nB --> j\nj --> [*]"),
        ("A",),
    ),
    "state-concurrent": (
        "state",
        uml("state S {\n  A --> B\n  --\n  C --> D\n}\nS : a description"),
        ("a description",),
    ),
    "activity": (
        "activity",
        uml("start\n:read;\nif (good?) then (yes)\n  :use it;\nelse (no)\n  :throw away;\nendif\nstop"),
        ("good?",),
    ),
    "activity-loops": (
        "activity",
        uml("start\nwhile (more?) is (yes)\n  :next;\nendwhile (no)\nrepeat\n  :try;\nrepeat while (again?)\nend"),
        ("again?",),
    ),
    "activity-fork": ("activity", uml("start\nfork\n  :one;\nfork again\n  :two;\nend fork\nstop"), ("two",)),
    "activity-swimlanes": (
        "activity",
        uml("|Left|\nstart\n:one;\n|#LightBlue|Right|\n:two;\n|Left|\n:three;\nstop"),
        ("Right",),
    ),
    "activity-partition": (
        "activity",
        uml("partition Init {\n  :a;\n  :b;\n}\nnote right: here\n:c; <<save>>\ndetach"),
        ("Init",),
    ),
    "activity-switch": (
        "activity",
        uml("start\nswitch (kind?)\ncase (a)\n  :A;\ncase (b)\n  :B;\nendswitch\nstop"),
        ("kind?",),
    ),
    "activity-legacy": ("activity", uml("(*) --> first\n--> second\n--> (*)"), ("second",)),
    "timing": (
        "timing",
        uml('robust "User" as U\nconcise "Web" as W\n@0\nU is Idle\nW is Off\n@100\nU is Busy\nW is On'),
        ("Busy",),
    ),
    "mindmap": ("mindmap", other("mindmap", "* root\n** branch\n*** leaf\n** other\nleft side\n** left"), ("branch",)),
    "mindmap-colours": (
        "mindmap",
        other("mindmap", "+ plan\n++[#lightgreen] good\n++[#pink] bad\n--[#lightblue] left\n--- more"),
        ("good",),
    ),
    "wbs": ("wbs", other("wbs", "* Project\n** Design\n*** Sketch\n** Build\n** Test"), ("Sketch",)),
    "gantt": (
        "gantt",
        other(
            "gantt",
            "Project starts 2026-01-05\n[Design] lasts 5 days\n[Build] lasts 8 days\n[Build] starts at [Design]'s end",
        ),
        ("Design",),
    ),
    "gantt-milestones": (
        "gantt",
        other(
            "gantt",
            "printscale weekly\n[A] requires 10 days\n[Done] happens at [A]'s end\n-- Next --\n[B] requires 4 days",
        ),
        ("Done",),
    ),
    "json": (
        "json",
        other("json", '{"name": "Ann", "tags": ["a", "b"], "nested": {"n": 1, "ok": true, "none": null}}'),
        ("Ann",),
    ),
    "yaml": ("yaml", other("yaml", "fruit: apple\nlist:\n  - one\n  - two\nmap:\n  key: value"), ("apple",)),
    "ebnf": ("ebnf", other("ebnf", 'digit = "0" | "1";\nnumber = digit, {digit};'), ("digit",)),
    "regex": ("regex", other("regex", "[a-z]+(foo|bar)?\\d{2,4}"), ("foo",)),
    "archimate": (
        "component",
        uml('archimate #Technology "Server" as s <<technology-device>>\nrectangle App\nApp --> s'),
        ("Server",),
    ),
    "chart": (
        "chart",
        other("chart", 'h-axis [Q1, Q2, Q3]\nv-axis "Sales" 0 --> 100\nbar "2026" [30, 60, 90] #steelblue'),
        ("Q1",),
    ),
    "sprite": (
        "sequence",
        uml(
            "sprite $s [8x8/16] {\n"
            "FFFFFFFF\nF000000F\nF0FFFF0F\nF0F00F0F\nF0F00F0F\nF0FFFF0F\nF000000F\nFFFFFFFF"
            "\n}\nA -> B: <$s> here"
        ),
        ("here",),
    ),
    "openiconic": ("sequence", uml("A -> B: <&heart> love <&star>"), ("love",)),
    "emoji": ("sequence", uml("A -> B: <:smile:> fine"), ("fine",)),
    "creole": ("sequence", uml('A -> B: **bold** //italic// ""mono"" --gone-- __line__'), ("italic",)),
    "creole-table": (
        "class",
        uml("class A\nnote right of A\n  |= head |= two |\n  | a | b |\n  * item\n  # number\nend note"),
        ("head",),
    ),
    "preprocessor": (
        "sequence",
        uml('!$name = "World"\n!procedure $hello($who)\nA -> B: Hello $who\n!endprocedure\n$hello($name)'),
        ("Hello World",),
    ),
    "functions": (
        "sequence",
        uml('!function $twice($n)\n!return $n * 2\n!endfunction\nA -> B: $twice(21) %upper("ok")'),
        ("42 OK",),
    ),
    "smetana": ("class", uml("!pragma layout smetana\nclass A\nclass B\nA --> B"), ("A",)),
    "dashes-and-quotes": ("component", uml("component \"a < b & 'c'\" as X\nX --> [d]"), ("a < b & 'c'",)),
}

BROKEN: dict[str, tuple[int, str]] = {
    # name: (line that is wrong, source)
    "sequence": (3, uml("A -> B: fine\nthis is no arrow\nB -> A")),
    "sequence-first-line": (2, uml("foo bar\nA -> B")),
    "sequence-end": (3, uml("A -> B\nend")),
    "class-member": (4, uml("class A\nclass B\nA ===> > B\nclass C")),
    "class-second": (3, uml("class A\nclas B\nA --> B")),
    "activity": (4, uml("start\n:one;\n:two\nstop")),
    "activity-endif": (4, uml("start\n:one;\nendif\nstop")),
    "state": (3, uml("[*] --> A\nA -->> -- B\nB --> [*]")),
    "component": (3, uml("[A] --> [B]\n[C] -- -- [D]\n[E]")),
    "usecase": (4, uml("actor A\nusecase U\nA --> --> U")),
    "gantt": (3, other("gantt", "[A] lasts 5 days\n[B] sings 3 songs")),
    "mindmap": (3, other("mindmap", "* root\nno star here\n** leaf")),
    "wbs": (3, other("wbs", "* root\nno star here")),
    "procedure": (3, uml("A -> B\n$missing(1)\nB -> A")),
    "include": (3, uml("A -> B\n!include nowhere.puml")),
    "theme": (2, uml("!theme nowhere\nA -> B")),
    "no-end": (3, "@startuml\nA -> B\nB -> A\n"),
    "no-start": (2, "A -> B\n@enduml"),
    "two-diagrams": (4, "@startuml\nA -> B\n@enduml\n@startuml\nC -> D\n@enduml"),
    "wrong-end": (3, "@startmindmap\n* a\n@enduml"),
    "behind-comments": (6, "' first comment\n\n' second\n@startuml\nA -> B\nfoo bar baz\n@enduml"),
    "without-frame": (2, "A -> B\nfoo bar baz"),
    "windows-lines": (3, "@startuml\r\nA -> B\r\nfoo bar baz\r\n@enduml\r\n"),
}

HOSTILE: dict[str, str] = {
    "include-file": uml("!include {file}\nA -> B"),
    "include-url": uml("!include {url}/x.puml\nA -> B"),
    "includeurl": uml("!includeurl {url}/latest\nA -> B"),
    "import": uml("!import {file}\nA -> B"),
    "theme-from-url": uml("!theme x from {url}/themes\nA -> B"),
    "image": uml("A -> B: <img:{file}> <img:{url}/a.png>"),
    "environment": uml('A -> B: [%getenv("PATH")] [%dirpath()] [%load_json("{file}")]'),
    "recursion": uml("!procedure $f()\n$f()\n!endprocedure\n$f()\nA -> B"),
    "endless": uml("!while 1\n!endwhile\nA -> B"),
    "doubling": uml('!$a = "aaaaaaaaaaaaaaaa"\n!while 1\n!$a = $a + $a\n!endwhile\nA -> B: $a'),
    "dense-graph": uml("\n".join(f"C{a} --> C{b}" for a in range(90) for b in range(0, 90, 4))),
    "fifty-kilobytes": uml("\n".join(f"A{n % 50} -> B{n % 49}: message number {n:04d} of many" for n in range(1250))),
    "script": uml("A -> B: <script>alert(1)</script>\nnote left: </text><script>alert(2)</script>"),
    "svg-sprite": uml(
        'sprite s <svg viewBox="0 0 10 10"><script>alert(3)</script><image href="{file}"/></svg>\nA -> B: <$s>'
    ),
}
