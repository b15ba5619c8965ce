"""What a client is told to start: the wrapped server, with the flags in use, and no secret."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes import PATIENCE_S, ROOT, SIGNET, clean_env, piping, serving, serving_command
from wrap.test_commands_of_servers import OWN

WEATHER = (sys.executable, str(ROOT / "tests/wrap/weather_server.py"))
SECRET = "s3cret-0123456789"
NAMES = ["weather", "say", "note", "liar"]


def entry_of(server: Any) -> tuple[dict[str, Any], str, str]:
    """Return the entry on stdio of a client whose file is JSON, the server's name in it, and the install command."""
    clients = server.post("/-/clients", {"url": server.url}).json()["clients"]
    cursor = next(one for one in clients if one["name"] == "cursor")
    on_stdio = next(one for one in cursor["entries"] if one["way"] == "on stdio")
    ((name, entry),) = json.loads(on_stdio["text"])["mcpServers"].items()
    return entry, name, on_stdio["command"]


def tools_of(entry: dict[str, Any], folder: Path, env: dict[str, str] | None = None) -> list[str]:
    """Start an entry as a client does, in a folder of its own, and return the names of its tools."""
    words = ["env", "-C", str(folder), str(SIGNET), *entry["args"]]
    with piping(*words, env={**(env or {}), **entry.get("env", {}), "SIGNET_JOURNAL": "no"}) as pipe:
        listed = pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["result"]["tools"]
    return [tool["name"] for tool in listed]


def test_the_entry_starts_the_wrapped_server_with_the_flags_in_use(tmp_path: Path) -> None:
    """What only the HTTP server needs is left out, and so is the value of a variable."""
    flags = ("--pool", "session", "--validation", "shadow", "--validation", "liar=off", "--call-timeout-s", "9")
    given = ("--env", f"WEATHER_KEY={SECRET}", "--record", str(tmp_path / "tape"), "--log-dir", str(tmp_path / "log"))
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", *flags, *given, "--", *WEATHER) as server:
        entry, name, command = entry_of(server)
        everything = server.post("/-/clients", {"url": server.url}).body.decode()

    wanted = ["wrap", "--pool", "session", "--env", "WEATHER_KEY", "--validation", "shadow", "--validation", "liar=off"]
    assert entry["args"] == [*wanted, "--call-timeout-s", "9", "--", *WEATHER]
    assert name == "weather_server"
    assert command == shlex.join(["signet", "install", "cursor", "--name", "weather_server", "--", *entry["args"]])
    assert SECRET not in everything
    assert tools_of(entry, tmp_path, {"WEATHER_KEY": SECRET}) == NAMES


def test_the_install_command_writes_an_entry_that_serves_the_same(tmp_path: Path) -> None:
    """It is pasted as the page shows it; the program is written by its path, and all else as shown."""
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", "--no-journal", "--", *WEATHER) as server:
        entry, name, command = entry_of(server)
    words = [str(SIGNET), *shlex.split(command)[1:]]
    env = clean_env({"HOME": str(tmp_path)})
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, timeout=PATIENCE_S, check=False)

    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / ".cursor/mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert written[name]["args"] == entry["args"]
    assert tools_of(written[name], tmp_path) == NAMES


@pytest.mark.parametrize("secret", ["--api-key=hidden-1", "--token hidden-1"])
def test_secrets_of_a_command_are_not_shown(secret: str) -> None:
    words = ("--no-journal", "--", *WEATHER, "seen", *secret.split())
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", *words) as server:
        shown = server.post("/-/clients", {"url": server.url}).body.decode()

    assert "hidden-1" not in shown
    assert "[redacted]" in shown


def test_a_document_and_the_servers_of_a_file_are_started_too(tmp_path: Path) -> None:
    paths = {"/x": {"get": {"operationId": "getX", "responses": {"200": {"description": "x"}}}}}
    document = {"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": paths}
    (tmp_path / "api.json").write_text(json.dumps(document), encoding="utf-8")
    table = f"[servers.sky]\ncommand = {json.dumps(list(WEATHER))}\n"
    (tmp_path / "signet.toml").write_text(table, encoding="utf-8")
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    api = str(tmp_path / "api.json")
    base = ("--base-url", "http://127.0.0.1:9")
    with serving_command(SIGNET, "wrap", "--serve", "--port", "0", "--openapi", api, *base) as server:
        of_document, _, _ = entry_of(server)
    with serving("--config", str(tmp_path / "signet.toml"), str(tmp_path / "own.py"), "--token", SECRET) as server:
        clients = server.ask("POST", "/-/clients", b'{"url":"http://a"}', {"authorization": f"Bearer {SECRET}",
                             "content-type": "application/json"})  # fmt: skip
        cursor = next(one for one in clients.json()["clients"] if one["name"] == "cursor")
        of_file = json.loads(cursor["entries"][1]["text"])["mcpServers"]["signet"]

    assert of_document["args"] == ["wrap", "--openapi", api, *base]
    assert tools_of(of_document, tmp_path / "elsewhere") == ["getX"]
    assert of_file["args"] == ["stdio", str(tmp_path / "own.py"), "--config", str(tmp_path / "signet.toml")]
    assert tools_of(of_file, tmp_path / "elsewhere") == ["shout", *(f"sky_{name}" for name in NAMES)]
    assert SECRET not in clients.body.decode()


def test_an_entry_of_install_finds_what_is_in_the_working_folder(tmp_path: Path) -> None:
    """A client starts it in another folder; the file of settings and the lock are those of the working folder."""
    (tmp_path / "server.py").write_text(Path(WEATHER[1]).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "signet.toml").write_text("call_timeout_s = 8\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    env = clean_env({"HOME": str(tmp_path)})

    def install(*words: str) -> subprocess.CompletedProcess[bytes]:
        command = [SIGNET, "install", "cursor", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, timeout=PATIENCE_S, check=False)

    done = install("--", "wrap", "--", sys.executable, "server.py")
    none = install("--", "wrap", "--pool", "session")
    both = install("own.py", "--", "wrap", "--", "x")

    assert done.returncode == 0, done.stderr
    entry = json.loads((tmp_path / ".cursor/mcp.json").read_text(encoding="utf-8"))["mcpServers"]["server"]
    assert entry["args"] == ["wrap", "--cwd", str(tmp_path), "--", sys.executable, "server.py"]
    assert entry["env"] == {"SIGNET_CONFIG": str(tmp_path / "signet.toml")}
    assert tools_of(entry, tmp_path / "elsewhere") == NAMES
    assert (none.returncode, b"which server?" in none.stderr) == (2, True)
    assert (both.returncode, b"write one of the two" in both.stderr) == (2, True)
