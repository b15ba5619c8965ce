"""Development mode's reload: the socket and the pipe stay, a broken edit harms nobody, and a line says what changed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client, StdioServerParameters

from processes import PATIENCE_S, SIGNET, Pipe, Server, clean_env, piping, serving
from terminals import Screen

BANNER = "signet: development mode: "

ADD = '''
import os
import sys
import time

import signet


@signet.tool
def add(a: int, wait_for: str = "", sign: str = "") -> int:
    """Add a number to another."""
    if sign:
        open(sign, "w").close()
    while wait_for and not os.path.exists(wait_for):
        time.sleep(0.01)
    return a + {number}


@signet.tool
async def hang() -> int:
    """Hold the event loop for ever."""
    while True:
        time.sleep(0.01)


@signet.tool
def die() -> int:
    """End the process."""
    os._exit(3)


@signet.tool
def is_developed() -> bool:
    """Return whether anything of development mode is loaded."""
    return any(name.startswith("signet.commands.development") for name in sys.modules)
'''
MORE = '''

@signet.tool
def two() -> int:
    """Return two."""
    return 2
'''
LONG = '''

@signet.tool
def long() -> list[str]:
    """Return much."""
    return ["a line of text"] * 20_000
'''
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def write(file: Path, number: int | str, more: str = "") -> None:
    file.write_text(ADD.replace("{number}", str(number)) + more, encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    write(tmp_path / "own/tools.py", 1)
    return tmp_path / "own/tools.py"


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def added(server: Server, **arguments: Any) -> Any:
    return server.post("/api/tools/add", {"a": 1, **arguments}).json()["result"]["result"]


def call(request_id: int, tool: str = "add", **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": {"a": 1, **arguments} if tool == "add" else arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def result(message: Any) -> Any:
    return message["id"], message["result"]["structuredContent"]["result"]


def shaken_hands(pipe: Pipe) -> Any:
    answer = pipe.ask(HELLO)
    pipe.send(INITIALIZED)
    return answer


def test_over_http_the_socket_stays_and_a_call_in_flight_ends_where_it_began(file: Path, tmp_path: Path) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    with serving(str(file), "--no-journal", "--dev") as server, ThreadPoolExecutor() as threads:
        assert added(server) == 2
        waiting = threads.submit(added, server, wait_for=str(gate), sign=str(begun))
        until(begun.exists)
        write(file, 10, MORE)
        server.wait_for("signet: reloaded tools.py: 5 tools\n")

        assert added(server) == 11
        assert server.post("/api/tools/two", {}).json()["result"] == {"result": 2}
        gate.touch()
        assert waiting.result(PATIENCE_S) == 2


def test_a_broken_edit_keeps_the_last_good_tools(file: Path) -> None:
    with serving(str(file), "--no-journal", "--dev") as server:
        write(file, "(")
        server.wait_for("tools.py changed and cannot be loaded (see above); the tools from before go on\n")
        assert added(server) == 2
        assert "SyntaxError: '(' was never closed\n" in server.stderr()

        file.unlink()
        server.wait_for("there is no ")
        assert added(server) == 2

        write(file, 3)
        server.wait_for("signet: reloaded tools.py: 4 tools\n")
        assert added(server) == 4


def test_the_files_that_the_tools_are_made_of_are_watched(file: Path) -> None:
    """A neighbour that is imported, a frozen contract, the settings; not a file that nobody loads."""
    helper, other = file.with_name("helper.py"), file.with_name("other.py")
    helper.write_text("NUMBER = 1\n", encoding="utf-8")
    other.write_text("", encoding="utf-8")
    write(file, "helper.NUMBER", "\nimport helper\n")
    with serving(str(file), "--no-journal", "--dev") as server:
        other.write_text("x = 1\n", encoding="utf-8")
        # As editors do: a new file takes the place of the old one.
        new = file.with_name("helper.py~")
        new.write_text("NUMBER = 5\n", encoding="utf-8")
        new.replace(helper)
        server.wait_for("signet: reloaded helper.py: 4 tools\n")
        assert added(server) == 6

        contracts = file.parent / "contracts/tools"
        contracts.mkdir(parents=True)
        tool = next(tool for tool in server.ask("GET", "/api/tools").json()["tools"] if tool["name"] == "add")
        output = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
        frozen = {"tool": "tools.add", "input": tool["inputSchema"], "output": output}
        (contracts / "tools.add.json").write_text(json.dumps(frozen), encoding="utf-8")
        server.wait_for("tools.add.json: 4 tools\n")
        assert "contract.drift why=" in server.stderr()
        assert added(server) == 6

        assert "other.py" not in server.stderr()


def test_a_setting_that_cannot_change_any_more_is_told(file: Path) -> None:
    config = file.with_name("signet.toml")
    config.write_text('host = "127.0.0.1"\ncall_timeout_s = 20\n', encoding="utf-8")
    with serving(str(file), "--no-journal", "--dev", "--config", str(config)) as server:
        config.write_text('host = "localhost"\ncall_timeout_s = 20\n', encoding="utf-8")
        server.wait_for("signet: host changed: that takes effect at the next start\n")
        server.wait_for("signet: reloaded signet.toml: 4 tools\n")
        config.write_text('host = "localhost"\ncall_timeout_s = 30\n', encoding="utf-8")
        until(lambda: server.stderr().count("signet: reloaded signet.toml: 4 tools\n") == 2)
        assert server.stderr().count("next start") == 1


def test_a_new_file_in_a_folder_is_a_new_toolset(file: Path) -> None:
    with serving(str(file.parent), "--no-journal", "--dev") as server:
        file.with_name("more.py").write_text("import signet\n" + MORE, encoding="utf-8")
        server.wait_for("signet: reloaded more.py: 5 tools\n")

        assert server.post("/api/tools/two", {}).json()["result"] == {"result": 2}


def test_a_tool_that_holds_the_event_loop_for_ever_is_gone_with_the_next_edit(file: Path) -> None:
    with serving(str(file), "--no-journal", "--dev") as server, ThreadPoolExecutor() as threads:
        stuck = threads.submit(server.post, "/api/tools/hang", {})
        server.wait_for("loop.held tool=hang")
        write(file, 2)
        server.wait_for("signet: reloaded tools.py: 4 tools\n")

        assert added(server) == 3
        with pytest.raises(ConnectionError):
            stuck.result(PATIENCE_S)


def test_over_http_a_process_that_dies_is_replaced(file: Path) -> None:
    with serving(str(file), "--no-journal", "--dev") as server:
        with pytest.raises(ConnectionError):
            server.post("/api/tools/die", {})
        server.wait_for("the process of the tools ended with status 3\nsignet: another one takes its place\n")

        assert added(server) == 2


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_session_of_the_official_client_survives_and_sees_the_new_tool(file: Path, mode: str) -> None:
    parameters = StdioServerParameters(command=SIGNET, args=["stdio", str(file), "--no-journal", "--dev"])

    async def session() -> tuple[list[str], Any, Any]:
        told = asyncio.Event()

        async def on_message(message: Any) -> None:
            if isinstance(getattr(message, "root", message), mcp_types.ToolListChangedNotification):
                told.set()

        async with Client(parameters, mode=mode, message_handler=on_message) as client:
            before = await client.call_tool("add", {"a": 1})
            write(file, 10, MORE)
            names: list[str] = []
            async with asyncio.timeout(PATIENCE_S):
                if mode == "legacy":
                    await told.wait()
                while "two" not in names:
                    names = [tool.name for tool in (await client.list_tools()).tools]
                    await asyncio.sleep(0.01)
            return names, before, await client.call_tool("add", {"a": 1})

    names, before, after = asyncio.run(session())

    assert names == ["add", "hang", "die", "is_developed", "two"]
    assert (before.structured_content, after.structured_content) == ({"result": 2}, {"result": 11})


def test_on_stdio_a_call_in_flight_is_answered_by_the_process_that_has_it(file: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with piping(SIGNET, "stdio", str(file), "--no-journal", "--dev") as pipe:
        assert shaken_hands(pipe)["result"]["capabilities"] == {"tools": {"listChanged": True}}
        pipe.send(call(1, wait_for=str(gate)), call(2, wait_for=str(tmp_path / "never")))
        assert result(pipe.ask(call(3))) == (3, 2)
        write(file, 10)
        assert pipe.receive() == LIST_CHANGED

        assert result(pipe.ask(call(4))) == (4, 11)
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        gate.touch()
        assert result(pipe.receive()) == (1, 2)
        status, rest, log = pipe.finish()

    assert (status, rest) == (0, b"")
    assert b"signet: reloaded tools.py: 4 tools\n" in log


def test_on_stdio_a_process_that_dies_leaves_no_call_unanswered(file: Path) -> None:
    with piping(SIGNET, "stdio", str(file), "--no-journal", "--dev") as pipe:
        shaken_hands(pipe)
        died = pipe.ask(call(1, "die"))
        assert pipe.receive() == LIST_CHANGED

        assert died["error"]["code"] == -32603
        assert result(pipe.ask(call(2))) == (2, 2)


def test_a_new_process_knows_on_which_revision_the_client_and_the_old_one_agreed(file: Path) -> None:
    """A client that knows structured content is not sent a large result twice; others are, whole."""
    write(file, 1, LONG)
    with piping(SIGNET, "stdio", str(file), "--no-journal", "--dev") as pipe:
        shaken_hands(pipe)
        before = pipe.ask(call(1, "long"))["result"]["content"]
        write(file, 2, LONG)
        assert pipe.receive() == LIST_CHANGED

        assert pipe.ask(call(2, "long"))["result"]["content"] == before
        assert before[0]["text"].startswith("The result has ")


def test_a_client_that_did_not_shake_hands_is_told_of_no_change(file: Path) -> None:
    with piping(SIGNET, "stdio", str(file), "--no-journal", "--dev") as pipe:
        assert result(pipe.ask(call(1))) == (1, 2)
        write(file, 2)
        deadline, number = time.monotonic() + PATIENCE_S, 2
        while result(answer := pipe.ask(call(number)))[1] == 2:
            assert time.monotonic() < deadline
            assert answer["id"] == number
            number += 1

        assert result(answer) == (number, 3)


def test_a_script_of_ones_own_reloads_itself(file: Path) -> None:
    write(file, 1, "\nsignet.run()\n")
    with piping(sys.executable, str(file), "--no-journal", "--dev") as pipe:
        shaken_hands(pipe)
        write(file, 2, "\nsignet.run()\n")

        assert pipe.receive() == LIST_CHANGED
        assert result(pipe.ask(call(1))) == (1, 3)


@pytest.mark.parametrize("how", ["flag", "variable", "file"])
def test_a_banner_says_that_it_is_on(file: Path, tmp_path: Path, how: str) -> None:
    (tmp_path / "own.toml").write_text("dev = true\n")
    flags, env = {
        "flag": (("--dev",), {}),
        "variable": ((), {"SIGNET_DEV": "yes"}),
        "file": (("--config", str(tmp_path / "own.toml")), {}),
    }[how]
    with serving(str(file), "--no-journal", *flags, env=env) as server:
        over_http = server.stderr()
    with piping(SIGNET, "stdio", str(file), "--no-journal", *flags, env=env) as pipe:
        pipe.ask(call(1))
        _, _, on_stdio = pipe.finish()

    assert over_http.startswith(BANNER)
    assert on_stdio.decode().startswith(BANNER)
    assert "\033" not in over_http


def test_on_a_terminal_the_banner_has_a_colour(file: Path) -> None:
    kept = {name: value for name, value in clean_env().items() if name != "NO_COLOR"}
    command = ["env", "-u", "NO_COLOR", SIGNET, "serve", str(file), "--port", "0", "--no-journal", "--dev"]
    screen = Screen(command, columns=200, env=kept)
    shown = screen.wait_for("Ctrl-C stops it.")
    screen.process.terminate()
    status, _ = screen.finish()

    assert f"\033[1;33m{BANNER}" in shown
    assert status == 0


def test_in_production_there_is_no_banner_and_nothing_of_it_is_loaded(file: Path) -> None:
    with serving(str(file), "--no-journal") as server:
        loaded = server.post("/api/tools/is_developed", {}).json()["result"]["result"]
        seen = server.stderr()
    with piping(SIGNET, "stdio", str(file), "--no-journal") as pipe:
        capabilities = shaken_hands(pipe)["result"]["capabilities"]
        assert result(pipe.ask(call(1, "is_developed"))) == (1, False)

    assert loaded is False
    assert "development" not in seen
    assert capabilities == {"tools": {"listChanged": False}}


def test_a_start_that_fails_ends_as_in_production(file: Path) -> None:
    write(file, "(")
    for command in ("serve", "stdio"):
        with piping(SIGNET, command, str(file), "--no-journal", "--dev") as pipe:
            status, out, log = pipe.finish()

        assert (status, out) == (2, b"")
        assert b"SyntaxError: '(' was never closed" in log


def test_no_process_is_left_behind(file: Path) -> None:
    """Neither when the supervisor is killed."""
    with piping(SIGNET, "stdio", str(file), "--no-journal", "--dev") as pipe:
        pipe.ask(call(1))
        children = Path(f"/proc/{pipe.process.pid}/task/{pipe.process.pid}/children").read_text().split()
        pipe.process.kill()
        until(lambda: not any(os.path.exists(f"/proc/{child}") for child in children))

    assert children
