"""The commands that messages recommend: each situation of the table is set up, and its command runs as it is pasted."""

from __future__ import annotations

import ast
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from processes import BIN, PATIENCE_S, ROOT, clean_env, free_port, serving, serving_command
from signet.system.advice import COMMANDS, advise
from terminals import run_on_terminal

OWN = '''
import signet

@signet.tool
def shout(text: str) -> str:
    """Shout."""
    return text.upper()
'''
SOLUTION = "n, h = map(int, input().split())\nprint(sum(min(h, int(c)) for c in input().split()))\n"
SERVER = ("signet", "stdio", "--toolsets", "plantuml", "--no-journal")
WITHOUT_INDEX = {"PIP_DRY_RUN": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_DEPS": "1"}
"""Pip resolves what it is asked for, and changes nothing."""


class Pasted(NamedTuple):
    """A command that a message recommends, as a person completes and runs it."""

    command: str
    stdin: bytes = b""
    status: int = 0
    says: str = ""
    serves: bool = False
    """Whether it runs until it is stopped, once it has printed `says`."""


Setup = Callable[[Path], Pasted]
SETUPS: dict[str, Setup] = {}


def situation(name: str) -> Callable[[Setup], Setup]:
    def keep(setup: Setup) -> Setup:
        assert name not in SETUPS
        SETUPS[name] = setup
        return setup

    return keep


def said(folder: Path, *words: str, stdin: bytes = b"", status: int | None = None) -> str:
    """Return what a command prints for people."""
    done = subprocess.run(
        [str(BIN / words[0]), *words[1:]], cwd=folder, input=stdin, env=clean_env(), capture_output=True, check=False
    )
    assert status is None or done.returncode == status, done.stderr
    return done.stderr.decode() + done.stdout.decode()


def quoted_in(text: str, begin: str) -> str:
    """Return the command that a message has between quotes."""
    found = re.search(rf"'({re.escape(begin)}[^\n]*?)'(?=[ .,;\n]|$)", text)
    assert found is not None, text
    return found[1]


@situation("boj.list")
def _(folder: Path) -> Pasted:
    fetch = ("signet", "boj", "fetch", "--sandbox", "FM08", "--codes", "FXERD01", "--start", "204901", "--out", "x.csv")
    command = re.search(r"`(signet call [^`]*)`", said(folder, *fetch, status=1))
    assert command is not None
    return Pasted(f"{command[1]} --sandbox", says="FXERD01")


@situation("call.stdin")
def _(folder: Path) -> Pasted:
    (folder / "own.py").write_text(OWN)
    text = said(folder, "signet", "call", "shout", "--toolsets", "own.py", stdin=b"quiet")
    return Pasted(text[text.index("signet call shout text=-") :].splitlines()[0].rstrip("."), b"quiet", says="QUIET")


@situation("check")
def _(folder: Path) -> Pasted:
    (folder / "own.py").write_text(OWN)
    return Pasted(advise("check", target="own.py"), status=1, says="it has no example")


@situation("client.install")
def _(folder: Path) -> Pasted:
    words = ["--name", "diagrams", "--", "wrap", "--pool", "session", "--", *SERVER]
    command = advise("client.install", client="cursor", words=words)
    return Pasted(f"HOME={shlex.quote(str(folder))} {command}", says="added diagrams in")


@situation("client.url")
def _(folder: Path) -> Pasted:
    command = advise("client.url", client="cursor", url="http://127.0.0.1:8080")
    return Pasted(f"HOME={shlex.quote(str(folder))} {command}", says="added signet in")


@situation("contract.freeze")
def _(folder: Path) -> Pasted:
    (folder / "own.py").write_text(OWN)
    return Pasted(quoted_in(said(folder, "signet", "check", "own.py"), "signet contract freeze"))


@situation("contract.diff")
def _(_: Path) -> Pasted:
    contracts = str(ROOT / "src/signet/schemas")
    return Pasted(advise("contract.diff", old=contracts, new=contracts))


@situation("packages.install")
def _(_: Path) -> Pasted:
    return Pasted(advise("packages.install", packages=["msgspec>=0.18", "httptools"]))


@situation("serve")
def _(folder: Path) -> Pasted:
    text = said(folder, "signet", "tools", "--url", f"http://127.0.0.1:{free_port()}", status=2)
    return Pasted(f"{quoted_in(text, 'signet serve')} --port 0", says="listening on", serves=True)


def doctor_of(folder: Path, *words: str) -> str:
    """Return the report of `signet doctor`, with lines as they come."""
    return said(folder, "signet", "doctor", "--sandbox", "--json", *words)


@situation("serve.port")
def _(folder: Path) -> Pasted:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        text = doctor_of(folder, "--port", str(taken.getsockname()[1]))
    assert advise("serve.port") in text
    return Pasted(advise("serve.port"), says="listening on", serves=True)


@situation("serve.sandbox")
def _(folder: Path) -> Pasted:
    text = said(folder, "signet", "tools", "boj_get_metadata", "--sandbox", status=0)
    command = text[text.index("signet serve") :].splitlines()[0]
    return Pasted(f"{command} --port 0", says="listening on", serves=True)


@situation("serve.token")
def _(folder: Path) -> Pasted:
    flags = ["--host", "0.0.0.0", "--allowed-hosts", "*"]
    command = advise("serve.token", flags=flags)
    assert f'"{command}"' in doctor_of(folder, *flags)
    return Pasted(f"{command} --port 0", says="listening on http://0.0.0.0:", serves=True)


@situation("serve.help")
def _(folder: Path) -> Pasted:
    assert advise("serve.help") in doctor_of(folder, "--port", "often")
    return Pasted(advise("serve.help"), says="usage:")


@situation("wrap.help")
def _(folder: Path) -> Pasted:
    return Pasted(quoted_in(said(folder, "signet", "wrap", status=2), "signet wrap"), says="usage:")


@situation("help")
def _(folder: Path) -> Pasted:
    text = said(folder, "signet", "oj", "test", "--nothing", status=2)
    return Pasted(quoted_in(text, "signet oj test"), says="usage: signet oj test")


@situation("call.same")
def _(folder: Path) -> Pasted:
    (folder / "my own.py").write_text(OWN)
    _, shown = run_on_terminal("stdio", str(folder / "my own.py"), "--no-journal", typed=b"\x04", columns=500)
    command = re.search(r"^To try the tools by hand: signet tools .*, (signet call NAME .*)$", shown, re.MULTILINE)
    assert command is not None, shown
    return Pasted(command[1].replace("NAME", "shout text=quiet"), says="QUIET")


@situation("tools.show")
def _(folder: Path) -> Pasted:
    (folder / "my own.py").write_text(OWN)
    _, shown = run_on_terminal("tools", str(folder / "my own.py"))
    command = re.search(r"^  (signet tools NAME .*)$", shown, re.MULTILINE)
    assert command is not None, shown
    return Pasted(command[1].replace("NAME", "shout"), says="Shout.")


@situation("file.private")
def _(folder: Path) -> Pasted:
    file = folder / "a file.toml"
    file.write_text('token = "0123456789"\n')
    file.chmod(0o644)
    text = said(folder, "signet", "config", "--config", file.name, status=0)
    return Pasted(text[text.index("chmod 600") :].splitlines()[0])


@situation("file.protected")
def _(folder: Path) -> Pasted:
    file = folder / "my tokens.jsonl"
    said(folder, "signet", "token", "new", "alice", "--tokens-file", file.name, status=0)
    file.chmod(0o666)
    text = said(folder, "signet", "token", "list", "--tokens-file", file.name, status=2)
    command = text[text.index("chmod o-w") :].splitlines()[0]
    return Pasted(f"{command} && signet token list --tokens-file {shlex.quote(file.name)}", says="alice")


@situation("folder.writable")
def _(folder: Path) -> Pasted:
    closed = folder / "a folder"
    closed.mkdir(mode=0o500)
    return Pasted(f"{advise('folder.writable', folder=str(closed))} && touch 'a folder/file'")


@situation("cassette.record")
def _(folder: Path) -> Pasted:
    (folder / "test_nothing.py").write_text("def test_nothing() -> None:\n    assert True\n")
    return Pasted(advise("cassette.record"), says="1 passed")


@situation("diagrams.files")
def _(_: Path) -> Pasted:
    return Pasted(advise("diagrams.files"), says="nothing to fetch")


@situation("diagrams.install")
def _(_: Path) -> Pasted:
    return Pasted(advise("diagrams.install", install="diagrams"), says="nothing to fetch")


@situation("doctor")
def _(_: Path) -> Pasted:
    return Pasted(f"{advise('doctor', here=False)} --sandbox", says="installed")


@situation("extra")
def _(_: Path) -> Pasted:
    return Pasted(advise("extra", install=["redis", "otel", "oauth", "sql", "openapi", "plot", "parquet"]))


@situation("lock.accept")
def _(folder: Path) -> Pasted:
    said(folder, "signet", "lock", "--", *SERVER, status=0)
    return Pasted(advise("lock.accept", name="signet", server=["--", *SERVER]))


@situation("lock.show")
def _(folder: Path) -> Pasted:
    said(folder, "signet", "lock", "--", *SERVER, status=0)
    return Pasted(advise("lock.show", server=["--", *SERVER]))


@situation("lock.accept_all")
def _(folder: Path) -> Pasted:
    return Pasted(advise("lock.accept_all", server=["--", *SERVER]))


@situation("lock.pin")
def _(_: Path) -> Pasted:
    return Pasted(advise("lock.pin", server=["--", *SERVER]))


@situation("new")
def _(folder: Path) -> Pasted:
    (folder / "a place").mkdir()
    text = said(folder, "signet", "new", f"{folder}/a place/x", status=2)
    return Pasted(text[text.index("signet new NAME") :].strip().replace("NAME", "weather"))


@situation("oj.test")
def _(folder: Path) -> Pasted:
    text = said(folder, "signet", "oj", "new", "--sandbox", "codeforces:1900A", status=0)
    (folder / "codeforces-1900A/main.py").write_text(SOLUTION)
    return Pasted(f"cd codeforces-1900A && {text[text.index('signet oj test') :].splitlines()[0]}", says="right")


@situation("project.editable")
def _(folder: Path) -> Pasted:
    said(folder, "signet", "new", "weather", status=0)
    return Pasted(advise("project.editable", folder=str(folder / "weather")))


@situation("project.install")
def _(folder: Path) -> Pasted:
    return Pasted(" && ".join(next_lines(folder)[:2]))


@situation("project.check")
def _(folder: Path) -> Pasted:
    enter, _, check = next_lines(folder)
    return Pasted(f"{enter} && {check}", says="passed")


def next_lines(folder: Path) -> list[str]:
    """Return the commands that `signet new` prints."""
    return said(folder, "signet", "new", "weather", "--path", "a place", status=0).splitlines()[1:]


@situation("recording.play")
def _(folder: Path) -> Pasted:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    said(folder, "signet", "call", "encodePlantUML", "plantumlCode=A", "--record", "a recording", status=0)
    text = said(folder, "signet", "wrap", "--replay", "a recording", status=2)
    return Pasted(text[text.index("signet stdio --replay") :].strip(), ping, says='"result"')


@situation("token.list")
def _(folder: Path) -> Pasted:
    said(folder, "signet", "token", "new", "alice", "--tokens-file", "t.jsonl", status=0)
    text = said(folder, "signet", "token", "revoke", "bob", "--tokens-file", "t.jsonl", status=2)
    return Pasted(quoted_in(text, "signet token list"), says="alice")


@situation("token.new")
def _(folder: Path) -> Pasted:
    text = said(folder, "signet", "token", "list", "--tokens-file", "my tokens.jsonl", status=2)
    return Pasted(quoted_in(text, "signet token new").replace("NAME", "alice"))


@situation("token.revoke")
def _(folder: Path) -> Pasted:
    new = ("signet", "token", "new", "alice", "--tokens-file", "t.jsonl")
    said(folder, *new, status=0)
    text = said(folder, *new, status=2)
    said(folder, *new, "--rotate", status=0)
    return Pasted(quoted_in(text, "signet token revoke"))


@situation("tools.list")
def _(folder: Path) -> Pasted:
    (folder / "my own.py").write_text(OWN)
    text = said(folder, "signet", "call", "no_such_tool", "--toolsets", "./my own.py", status=1)
    command = re.search(r"'(signet tools .*)' lists what there is\n", text)
    assert command is not None, text
    return Pasted(command[1], says="shout")


@situation("wrap.contracts")
def _(folder: Path) -> Pasted:
    (folder / "learned").mkdir()
    command = f"{advise('wrap.contracts', folder='learned')} -- {shlex.join(SERVER)}"
    return Pasted(command, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', says='"result"')


def paste(folder: Path, pasted: Pasted) -> None:
    """Run a command in a shell, as a reader does."""
    if pasted.serves:
        with serving_command("/bin/sh", "-c", f"exec env {pasted.command}") as server:
            server.wait_for(pasted.says)
        return
    done = subprocess.run(
        ["/bin/sh", "-c", pasted.command],
        cwd=folder,
        input=pasted.stdin,
        env=clean_env(WITHOUT_INDEX),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == pasted.status, (pasted.command, done.stderr.decode())
    assert pasted.says in done.stdout.decode() + done.stderr.decode()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_recommended_command_works_as_it_is_pasted(tmp_path: Path, name: str) -> None:
    if name == "tools.remote":
        with serving("--toolsets", "plantuml") as server:
            text = said(tmp_path, "signet", "call", "no_such", "--url", server.url, status=1)
            paste(tmp_path, Pasted(quoted_in(text, "signet tools"), says="encodePlantUML"))
        return
    paste(tmp_path, SETUPS[name](tmp_path))


def test_a_value_is_quoted_and_a_wrong_one_is_a_mistake() -> None:
    assert advise("lock.show", here=False, server=["--", "a b", "$(c)"]) == "signet lock -- 'a b' '$(c)'"
    with pytest.raises(KeyError):
        advise("lock.show")
    with pytest.raises(TypeError, match="takes no other"):
        advise("doctor", other="x")


def test_the_command_is_written_by_its_path_where_the_shell_does_not_find_it() -> None:
    probe = "from signet.system.advice import advise; print(advise('doctor'))"
    printed = [
        subprocess.run(
            [sys.executable, "-c", probe], env={**clean_env(), "PATH": path}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for path in (f"{BIN}{os.pathsep}/usr/bin", "/usr/bin:/bin")
    ]

    assert printed == ["signet doctor", f"{shlex.quote(str(BIN / 'signet'))} doctor"]


COMMAND = re.compile(r"(?<![\w./-])(?:signet [a-z]{2,}|pip install|npm install|chmod )")
MENTIONS = (
    "signet parity", "signet check", "signet audit", "signet contract diff",  # names and headings
    "[options]", "is for signet serve", "settings of signet", "what `signet stdio` serves",  # what a flag is for
    "signet call ", "`signet boj fetch` does with --restart",  # a call of a page, the flag of another command
    "signet boj fetch --out FILE.parquet", "signet boj plot",  # what a part is for
    "made with 'signet wrap --record'", "as 'signet contract learn --out' writes them",  # where a file comes from
)  # fmt: skip
"""Texts that name a command and do not recommend it."""


def is_text_of_help(node: ast.AST) -> bool:
    """Return whether a node is a docstring, a line of a help page or of a usage, or the help of a setting."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.keyword):
        return node.arg in {"help", "description", "epilog"}
    if isinstance(node, ast.Assign):
        return any(getattr(target, "attr", "") == "usage" for target in node.targets)
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setting"


def messages_with_commands() -> list[str]:
    """Return the literals of one line in the source that hold a command, without those for help pages."""
    found = []
    for module in sorted((ROOT / "src/signet").rglob("*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        skipped = {id(part) for node in ast.walk(tree) if is_text_of_help(node) for part in ast.walk(node)}
        literals = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in skipped]
        texts = [text for text in literals if isinstance(text, str) and "\n" not in text.strip()]
        where = module.relative_to(ROOT / "src/signet")
        commands = [text for text in texts if COMMAND.search(text) and not any(words in text for words in MENTIONS)]
        found += [f"{where}: {text}" for text in commands]
    return found


def test_no_other_module_writes_a_command_into_a_message() -> None:
    allowed = ("system/advice.py", "system/installation.py")

    elsewhere = [text for text in messages_with_commands() if not text.startswith(allowed)]

    assert elsewhere == []
