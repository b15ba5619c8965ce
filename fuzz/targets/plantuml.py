"""PlantUML texts: encoded and read back, found in files, and taken from links."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator

from fuzz.odd_values import text
from fuzz.serving import a_server, check_message, loop_watched
from fuzz.target import Run, Target, expect
from signet.kernel.channel import ClientChannel
from signet.kernel.server import Pending, Server
from signet.toolsets.plantuml.encoding import decode, encode_bytes
from signet.toolsets.plantuml_tools.decoding import decode_any
from signet.toolsets.plantuml_tools.source import Diagram, find_diagram, split_diagrams

__all__ = ["TARGET"]

KINDS = ("uml", "mindmap", "gantt", "json", "salt", "UML", "", "x")
LINES = (
    "A -> B : hello", "Bob --> Alice", "class A { +int x }", "note left\n text\nend note", "!include x",
    "!define A B", "skinparam a b", "title é 日本",
    "' comment", "/' block '/", "if (a) then (b)", "@startuml", "@enduml", " @enduml x", "@startuml(id=a)", "{", "}",
    "\t", "", "\ufeff", "\\n", "%date()",
)  # fmt: skip
LINKS = (
    "https://www.plantuml.com/plantuml/svg/", "//host/png/", "http://x/uml/", "/svg/", "", "~1", "~h", "~0", "~x",
    "https://x/?text=", "https://x/?uml=~h",
)  # fmt: skip
GOOD = ("SyfFKj2rKt3CoKnELR1Io4ZDoSa70000", "SoWkIImgAStDuN9KqDMrKt3YSaZDIm7o0G", "407374617274756d6c", "0000", "U9np")
TOKENS = tuple(
    one.encode()
    for one in (
        *LINES,
        *LINKS,
        *GOOD,
        "@start",
        "@end",
        ".svg",
        ".png",
        "%2F",
        "%",
        "?",
        "#",
        "0" * 64,
        "_-",
        "\u2028",
        "\r",
        "\r\n",
    )
)
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


def _generate(chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        link = chance.choice(LINKS) + chance.choice(GOOD) + chance.choice(("", ".svg", "/", "?x", "%20", text(chance)))
        return link.encode("utf-8", "surrogatepass")
    lines = [chance.choice(LINES) if chance.random() < 0.8 else text(chance) for _ in range(chance.randrange(12))]
    if chance.random() < 0.7:
        lines = [f"@start{chance.choice(KINDS)}", *lines, f"@end{chance.choice(KINDS)}"]
    return chance.choice(("\n", "\n", "\r\n", "\r")).join(lines).encode("utf-8", "surrogatepass")


def _check_texts(data: bytes) -> None:
    """Encode and decode; find diagrams."""
    given = data.decode("utf-8", "surrogateescape")
    try:
        whole = data.decode()
    except UnicodeDecodeError:
        whole = ""
    encoded = encode_bytes(whole.encode())
    expect(decode(encoded) == whole, "what is encoded is decoded to the same", encoded)
    if whole:
        expect(decode_any(f"https://a.example/svg/{encoded}") == whole, "a link is decoded to its diagram", encoded)
        expect(decode_any("~h" + whole.encode().hex()) == whole, "hex is decoded to its diagram")
    for read in (decode, decode_any):
        with contextlib.suppress(ValueError):
            expect(len(read(given).encode()) <= 1 << 20, "a decoded text has a bound")
    found = find_diagram(given)
    lines = given.count("\n") + given.count("\r") + 3
    if isinstance(found, Diagram):
        expect(found.text.lower().startswith("@start"), "a diagram begins", found.text)
        expect("@end" in found.text.lower(), "a diagram ends", found.text)
    else:
        expect(found.message and (found.line is None or 1 <= found.line <= lines), "an error has a line", found)
    expect(all(0 <= place < lines for place, _ in split_diagrams(given)), "diagrams have places")


async def _call(server: Server, data: bytes) -> None:
    """Call the tool with a text, and await the reply where it comes later."""
    arguments = {"plantumlCode": data.decode("utf-8", "surrogateescape")}
    message = {**CALL, "params": {"name": "encodePlantUML", "arguments": arguments}}
    reply = server.receive(json.dumps(message).encode(), ClientChannel())
    if isinstance(reply, Pending):
        reply = await reply.reply
    error = check_message(reply.body).get("error", {}) if reply is not None else {}
    expect(reply is not None and error.get("code") != -32603, "no text is an internal error", error)


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with a_server() as (server, _), loop_watched() as watch:

        def run(data: bytes) -> None:
            _check_texts(data)
            watch.run(_call(server, data))

        yield run
        watch.loop.run_until_complete(server.close())


TARGET = Target(
    name="plantuml",
    about="diagram texts and links: encoded, decoded, found in files",
    open=_open,
    seeds=lambda: [
        *[f"@startuml\n{line}\n@enduml".encode() for line in LINES],
        *[f"{link}{GOOD[0]}".encode() for link in LINKS],
    ],
    generate=_generate,
    tokens=TOKENS,
    rooms=("toolsets/plantuml",),
)
