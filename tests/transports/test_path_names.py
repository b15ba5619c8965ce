"""Tools whose names cannot stand in a path as they are: called by the name in percent escapes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from commands_in_process import signet_here
from processes import FIRST_AND_LAST_DOOR, Server, clean_env, serving
from signet.transports.asgi import AsgiApp
from signet.transports.messages import Request, Response
from signet.transports.path_names import escaped, unescaped

NAMES = ("加算", "two words", "a/b", "100%", "%41", "plain.name_1-2~3")
TOOL = '''
@signet.tool(name={name!r}, slug="tools.t{number}", example={{"a": 1}})
def tool_{number}(a: int) -> str:
    """Tell the name of this tool and give the number back."""
    return f"{number} {{a}}"
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    code = "".join(TOOL.format(name=name, number=number) for number, name in enumerate(NAMES))
    (folder / "tools.py").write_text(f"import signet\n{code}", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(str(folder / "tools.py")) as running:
        yield running


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_called_over_rest_as_the_openapi_page_writes_it(server: Server, name: str) -> None:
    number = NAMES.index(name)
    path = f"/api/tools/{escaped(name)}"

    reply = server.post(path, {"a": 7})

    assert (reply.status, reply.json()) == (200, {"success": True, "result": {"result": f"{number} 7"}})
    assert path in server.ask("GET", "/openapi.json").json()["paths"]


@pytest.mark.parametrize("name", NAMES)
def test_each_name_has_its_page_in_the_console(server: Server, name: str) -> None:
    reply = server.ask("GET", f"/-/tools/{quote(name, safe='')}")

    assert (reply.status, reply.json()["name"]) == (200, name)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("%70lain.name_1-2~3", "%70lain.name_1-2~3"),
        ("%E5%8A%A0", "%E5%8A%A0"),
        ("%ff%fe", "%ff%fe"),
        ("a%2Fc", "a%2Fc"),
    ],
)
def test_any_other_name_is_unknown_and_echoed_as_it_was_sent(server: Server, path: str, name: str) -> None:
    reply = server.post(f"/api/tools/{path}", {"a": 7})

    assert (reply.status, reply.json()["error"]["message"]) == (404, f"Tool '{name}' not found")


def test_a_plain_slug_is_compared_as_it_stands_in_the_path(server: Server) -> None:
    def invoke(slug: str) -> Any:
        params = {"tool": "mcp.tool:tools.t0", "input": {"a": 7}}
        return server.post(
            f"/mcp/tool/{slug}", {"jsonrpc": "2.0", "id": 1, "method": "mcp.tool.invoke", "params": params}
        )

    assert invoke("tools.t0").json()["result"] == {"result": "0 7"}
    assert invoke("tools%2Et0").status == 400


def test_the_gate_passes_for_such_names(folder: Path) -> None:
    done = signet_here(folder, "check", "tools.py", "--format", "json", environ=clean_env(FIRST_AND_LAST_DOOR))

    failed = [one for one in json.loads(done.stdout)["results"] if one["state"] == "failed"]
    assert failed == []


def test_the_commands_to_paste_name_the_path(folder: Path) -> None:
    shown = signet_here(folder, "tools", "tools.py", "two words").stdout.decode()

    assert "/api/tools/two%20words " in shown


@pytest.mark.parametrize("name", [*NAMES, "", "ü", "a b/c%d"])
def test_a_name_is_read_as_it_was_written(name: str) -> None:
    assert unescaped(escaped(name)) == name


class Seen:
    """An application that keeps the paths that it is asked for."""

    records_all = False

    def __init__(self) -> None:
        self.paths: list[str] = []

    def start(self) -> None:
        pass

    def admit(self, request: Request) -> Response:
        self.paths.append(request.path)
        return Response(200)


@pytest.mark.parametrize(
    ("path", "seen"),
    [("/api/tools/加算", "/api/tools/%E5%8A%A0%E7%AE%97"), ("/api/tools/100%", "/api/tools/100%25"), ("/a,b", "/a,b")],
)
def test_a_host_that_passes_on_a_decoded_path_alone_is_understood(path: str, seen: str) -> None:
    app = Seen()
    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"host", b"localhost")]}

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        async def send(_: Any) -> None:
            pass

        await AsgiApp(app)(scope, receive, send)  # type: ignore[arg-type]

    asyncio.run(run())

    assert app.paths == [seen]
