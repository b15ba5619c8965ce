"""`signet install` and `signet uninstall` as processes, on the files of ten clients below a home folder."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client, StdioServerParameters

from client_files import PROJECT_FILES, USER_FILES, after, before
from commands_in_process import signet_here
from processes import PATIENCE_S, ROOT, SIGNET, clean_env, serving
from signet.clients.clients import CLIENTS
from signet.commands.install.target import words_of

Done = subprocess.CompletedProcess[str]


class Desk:
    """A user with a home folder and a working folder."""

    def __init__(self, home: Path) -> None:
        self.home, self.work = home, home / "work"
        self.work.mkdir()

    def environ(self, **env: str) -> dict[str, str]:
        named = ("XDG_", "CODEX_", "CLAUDE_", "APPDATA")
        kept = {name: value for name, value in clean_env().items() if not name.startswith(named)}
        return {**kept, "HOME": str(self.home), **env}

    def run(self, *words: str, **env: str) -> Done:
        """Run a command in this process."""
        done = signet_here(self.work, *words, environ=self.environ(**env))
        texts = [text.decode().replace("\r\n", "\n") for text in (done.stdout, done.stderr)]
        return Done(done.args, done.returncode, *texts)

    def run_apart(self, *words: str, program: tuple[str, ...] = (SIGNET,), **env: str) -> Done:
        """Run a command in a process of its own."""
        return subprocess.run(
            [*program, *words], cwd=self.work, env=self.environ(**env),
            capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def file(self, client: str, data: bytes | None = None) -> Path:
        path = self.home / USER_FILES[client]
        if data is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return path

    def files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.home)): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return {".toml": tomllib.loads, ".yaml": yaml.safe_load, ".json": json.loads}[path.suffix](text)


@pytest.mark.parametrize("client", USER_FILES)
def test_an_entry_is_merged_and_taken_out_and_everything_else_stays_byte_for_byte(desk: Desk, client: str) -> None:
    path = desk.file(client, before(client))
    backup = Path(f"{path}.before-signet.bak")

    installed = desk.run_apart("install", client)

    assert (installed.returncode, installed.stderr) == (0, "")
    assert installed.stdout.startswith(f"added signet in {path} (backup: {backup})\n")
    assert path.read_bytes() == after(client, SIGNET)
    assert backup.read_bytes() == before(client)

    again = desk.run_apart("install", client)

    assert (again.returncode, again.stdout) == (0, f"signet is in {path} already: nothing to change\n")
    assert path.read_bytes() == after(client, SIGNET)

    removed = desk.run_apart("uninstall", client)

    assert (removed.returncode, removed.stderr) == (0, "")
    assert removed.stdout == f"took signet out of {path}, which is what it was before\n"
    assert desk.files() == {USER_FILES[client]: before(client)}


@pytest.mark.parametrize("client", USER_FILES)
def test_a_missing_file_is_made_for_its_user_alone_and_removed_again(desk: Desk, client: str) -> None:
    made = desk.run("install", client)
    path = desk.file(client)

    assert (made.returncode, made.stderr) == (0, "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "signet" in str(read(path))

    removed = desk.run("uninstall", client)

    assert removed.stdout == f"removed {path}, which held signet alone\n"
    assert desk.files() == {}


@pytest.mark.parametrize("client", USER_FILES)
@pytest.mark.parametrize("content", [b"", b"# x\n"])
def test_an_empty_file_stays_what_it_was(desk: Desk, client: str, content: bytes) -> None:
    content = content.replace(b"#", b"//") if USER_FILES[client].endswith("json") else content
    path = desk.file(client, content)

    assert desk.run("install", client).returncode == 0
    assert path.read_bytes().startswith(content)
    assert desk.run("uninstall", client).returncode == 0
    assert desk.files() == {USER_FILES[client]: content}


@pytest.mark.parametrize("client", PROJECT_FILES)
def test_the_file_of_a_project_stands_in_the_working_folder(desk: Desk, client: str) -> None:
    done = desk.run("install", client, "boj", "--project")

    assert (done.returncode, done.stderr) == (0, "")
    assert list(desk.files()) == [f"work/{PROJECT_FILES[client]}"]
    assert "boj" in str(read(desk.work / PROJECT_FILES[client]))


TOOLS = '''
import signet


@signet.tool
def add(a: int, b: int = 0) -> int:
    """Add two integers."""
    return a + b
'''


def words_in(desk: Desk, client: str, name: str) -> list[str]:
    """Return the command of an entry in the file of the project."""
    entry = read(desk.work / PROJECT_FILES[client])
    for key in (*CLIENTS[client].keys, name):
        entry = entry[key]
    return words_of(entry)


@pytest.mark.parametrize("client", PROJECT_FILES)
def test_the_file_of_a_project_has_no_path_of_this_machine_and_serves_in_its_folder(desk: Desk, client: str) -> None:
    (desk.work / "src").mkdir()
    (desk.work / "src/tools.py").write_text(TOOLS)
    (desk.work / "signet.toml").write_text("")

    done = desk.run("install", client, str(desk.work / "src/tools.py"), "--project")

    text = (desk.work / PROJECT_FILES[client]).read_text()
    assert (done.returncode, done.stderr) == (0, "")
    assert str(desk.home) not in text
    assert str(Path(sys.prefix)) not in text
    words = words_in(desk, client, "tools")
    assert words == ["signet", "stdio", "./src/tools.py", "--config", "./signet.toml"]
    assert desk.run("uninstall", client, "src/tools.py", "--project").returncode == 0

    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    served = subprocess.run(
        words, cwd=desk.work, env=desk.environ(PATH=str(Path(SIGNET).parent)), input=json.dumps(message),
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert json.loads(served.stdout)["id"] == 1, served.stderr


def test_what_lies_outside_of_a_project_cannot_be_in_its_file(desk: Desk) -> None:
    (desk.home / "tools.py").write_text(TOOLS)

    done = desk.run("install", "claude-code", "../tools.py", "--project")

    assert (done.returncode, done.stdout) == (2, "")
    assert "is outside of the project, whose file others share: copy it into the project" in done.stderr
    assert list(desk.files()) == ["tools.py"]


def test_a_path_behind_the_dashes_or_in_a_variable_is_one_of_the_project_too(desk: Desk) -> None:
    def entry(*words: str) -> tuple[int, str, list[str]]:
        done = desk.run("install", "claude-code", "--project", "--force", "--name", "x", *words)
        return done.returncode, done.stderr, words_in(desk, "claude-code", "x") if done.returncode == 0 else []

    work = str(desk.work)
    own = entry("--env", f"DATA={work}/data", "--", "--record", f"{work}/tape", f"--log-dir={work}", "--sandbox")
    document = entry("--", "--toolsets", f"openapi:{work}/api.json#tag:a")
    wrapped = entry("--", "wrap", "--cwd", f"{work}/./src", "--", "node", f"{work}/index.js", "https://a.example/b")
    text = (desk.work / PROJECT_FILES["claude-code"]).read_text()
    refused = [entry(*words) for words in (
        ("--", "--record", "/tape"), ("--", f"--log-dir={work}/../runs"), ("--env", "KEY=/etc/key"),
        ("--", "wrap", "--", "node", "/opt/index.js"), ("--", "wrap", "--env", "KEY=/etc/key", "--", "node"),
    )]  # fmt: skip

    assert own == (0, "", ["signet", "stdio", "--record", "./tape", "--log-dir=./", "--sandbox"])
    assert document == (0, "", ["signet", "stdio", "--toolsets", "openapi:./api.json#tag:a"])
    words = ["signet", "wrap", "--cwd", "./src", "--", "node", "./index.js", "https://a.example/b"]
    assert wrapped == (0, "", words)
    assert work not in text
    assert [status for status, _, _ in refused] == [2] * 5
    assert all("is outside of the project, whose file others share" in said for _, said, _ in refused)


def test_an_environment_within_a_project_is_named_from_there(desk: Desk) -> None:
    (desk.work / ".venv/bin").mkdir(parents=True)
    os.symlink(sys.executable, desk.work / ".venv/bin/python")
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", desk.work / ".venv")
    os.symlink(Path(sys.prefix) / "lib", desk.work / ".venv/lib")

    done = desk.run_apart("install", "claude-code", "--project", program=(".venv/bin/python", "-m", "signet"))

    assert done.returncode == 0, done.stderr
    assert words_in(desk, "claude-code", "signet") == ["./.venv/bin/python", "-m", "signet", "stdio"]


@pytest.mark.parametrize("client", sorted(USER_FILES.keys() - PROJECT_FILES.keys()))
def test_a_client_without_project_files_says_so(desk: Desk, client: str) -> None:
    done = desk.run("install", client, "--project")

    assert (done.returncode, done.stdout) == (2, "")
    assert "has no configuration of a project: leave out --project" in done.stderr


REMOTE = {
    "claude-code": {"mcpServers": {"signet": {"type": "http", "url": "http://127.0.0.1:8080/mcp"}}},
    "cursor": {"mcpServers": {"signet": {"url": "http://127.0.0.1:8080/mcp"}}},
    "vscode": {"servers": {"signet": {"type": "http", "url": "http://127.0.0.1:8080/mcp"}}},
    "codex": {"mcp_servers": {"signet": {"url": "http://127.0.0.1:8080/mcp"}}},
    "gemini": {"mcpServers": {"signet": {"httpUrl": "http://127.0.0.1:8080/mcp"}}},
    "windsurf": {"mcpServers": {"signet": {"serverUrl": "http://127.0.0.1:8080/mcp"}}},
    "zed": {"context_servers": {"signet": {"url": "http://127.0.0.1:8080/mcp"}}},
    "goose": {
        "extensions": {
            "signet": {
                "name": "signet",
                "type": "streamable_http",
                "uri": "http://127.0.0.1:8080/mcp",
                "enabled": True,
                "timeout": 300,
            }
        }
    },
    "opencode": {"mcp": {"servers": {"signet": {"type": "remote", "url": "http://127.0.0.1:8080/mcp"}}}},
}


@pytest.mark.parametrize("client", REMOTE)
def test_a_running_server_is_installed_by_its_address(desk: Desk, client: str) -> None:
    done = desk.run("install", client, "--url", "http://127.0.0.1:8080")

    assert (done.returncode, done.stderr) == (0, "")
    assert read(desk.file(client)) == REMOTE[client]


URLS = ["8080", "ftp://x/mcp", "http://", "http://user:secret@x/mcp", "http://x:99999/", "http://x/a b", "http://[x/"]


@pytest.mark.parametrize("url", URLS)
def test_an_address_that_cannot_be_used_is_refused_without_repeating_it(desk: Desk, url: str) -> None:
    done = desk.run("install", "cursor", "--url", url)

    assert done.returncode == 2
    assert "--url" in done.stderr
    assert "secret" not in done.stderr
    assert desk.files() == {}


@pytest.mark.parametrize("words", [("boj",), ("--env", "A=b"), ("--", "--sandbox")])
def test_an_address_goes_with_nothing_that_starts_a_server(desk: Desk, words: tuple[str, ...]) -> None:
    done = desk.run("install", "cursor", "--url", "http://127.0.0.1:8080", *words)

    assert done.returncode == 2
    assert desk.files() == {}


def test_claude_desktop_takes_no_address_from_a_file(desk: Desk) -> None:
    done = desk.run("install", "claude-desktop", "--url", "http://127.0.0.1:8080")

    assert (done.returncode, desk.files()) == (2, {})
    assert "Claude Desktop takes remote servers in its settings" in done.stderr


def command_of(desk: Desk, *words: str) -> tuple[str, list[str]]:
    """The name and the command of the entry that is written."""
    done = desk.run("install", "cursor", *words)
    assert done.returncode == 0, done.stderr
    ((name, entry),) = read(desk.file("cursor"))["mcpServers"].items()
    return name, [entry["command"], *entry["args"]]


def test_the_flags_of_the_server_stand_behind_dashes(desk: Desk) -> None:
    words = ("--name", "own", "--", "--sandbox", "--log", "debug")

    assert command_of(desk, *words) == ("own", [SIGNET, "stdio", "--sandbox", "--log", "debug"])


CONFIGS: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "the working folder's": ((), {}, "{work}/signet.toml"),
    "with a target": (("tools.py",), {}, "{work}/signet.toml"),
    "a variable's": ((), {"SIGNET_CONFIG": "other.toml"}, "{work}/other.toml"),
    "a flag's": (("--", "--config", "other.toml"), {"SIGNET_CONFIG": "signet.toml"}, "{work}/other.toml"),
    "a flag's in one word": (("--", "--config=./other.toml", "--sandbox"), {}, "{work}/other.toml"),
    "the client's": (("--env", "SIGNET_CONFIG=/x.toml"), {}, ""),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_the_file_of_settings_that_is_in_effect_is_named_by_its_full_path(desk: Desk, case: str) -> None:
    for name in ("signet.toml", "other.toml", "tools.py"):
        (desk.work / name).touch()
    words, variables, config = CONFIGS[case]

    done = desk.run("install", "cursor", *words, **variables)

    assert done.returncode == 0, done.stderr
    (entry,) = read(desk.file("cursor"))["mcpServers"].values()
    more = [f"{desk.work}/tools.py"] if "tools.py" in words else ["--sandbox"] if "--sandbox" in words else []
    assert entry["args"] == ["stdio", *more, *(["--config", config.format(work=desk.work)] if config else [])]


def test_a_file_of_settings_that_is_not_there_is_refused(desk: Desk) -> None:
    done = desk.run("install", "cursor", "--", "--config", "nothing.toml")

    assert (done.returncode, desk.files()) == (2, {})
    assert "there is no file 'nothing.toml' with settings" in done.stderr


TARGETS = {
    "my tools.py": ("my-tools", ["{work}/my tools.py"]),
    "./folder/": ("folder", ["{work}/folder"]),
    "boj": ("boj", ["--toolsets", "boj"]),
    "./boj": ("boj", ["{work}/boj"]),
    "plantuml-tools": ("plantuml-tools", ["--toolsets", "plantuml-tools"]),
    "json.decoder:toolset": ("decoder", ["json.decoder:toolset"]),
    "json": ("json", ["json"]),
    "mod": ("mod", ["{work}/mod.py"]),
    "folder.part": ("part", ["{work}/folder/part.py"]),
    "package/tools.py": ("package", ["{work}/package/tools.py"]),
    "package/__init__.py": ("package", ["{work}/package/__init__.py"]),
    "package.tools": ("package", ["{work}/package/tools.py"]),
    "folder/tools.py": ("tools", ["{work}/folder/tools.py"]),
    "道具.py": ("signet", ["{work}/道具.py"]),
}


@pytest.mark.parametrize(("target", "first"), [*((target, True) for target in TARGETS), ("./boj", False)])
def test_a_target_is_a_path_made_absolute_a_module_or_a_toolset(desk: Desk, target: str, first: bool) -> None:
    for name in ("folder", "boj", "package"):
        (desk.work / name).mkdir()
    for name in ("my tools.py", "道具.py", "mod.py", "folder/part.py", "folder/tools.py"):
        (desk.work / name).touch()
    for name in ("__init__.py", "tools.py"):
        (desk.work / "package" / name).write_text("raise SystemExit('it is not imported')")
    name, words = TARGETS[target]

    written = command_of(desk, *((target, "--force") if first else ("--force", target)))

    assert written == (name, [SIGNET, "stdio", *(word.format(work=desk.work) for word in words)])


@pytest.mark.parametrize("target", ["nothing.py", "no/folder", "bojj", "a b", "-", "nope.nope", "json.nope", "nope:a"])
def test_a_target_that_does_not_exist_is_refused(desk: Desk, target: str) -> None:
    done = desk.run("install", "cursor", target)

    assert (done.returncode, desk.files()) == (2, {})
    assert f"{target!r}" in done.stderr


def test_an_attribute_of_a_module_in_the_working_folder_is_refused(desk: Desk) -> None:
    (desk.work / "mod.py").touch()

    done = desk.run_apart("install", "cursor", "mod:toolset", program=(sys.executable, "-m", "signet"))

    assert (done.returncode, list(desk.files())) == (2, ["work/mod.py"])
    assert (
        "'mod:toolset' is found only in the working folder, and clients start in another: write mod.py" in done.stderr
    )


def test_a_path_may_have_a_comma(desk: Desk) -> None:
    """What is written for the client is what `signet` takes."""
    code = "import signet\n\n@signet.tool\ndef add(a: int) -> int:\n    return a\n"
    (desk.work / "a,b.py").write_text(code)

    name, command = command_of(desk, "a,b.py")
    served = desk.run("tools", *command[2:])

    assert (name, command) == ("a-b", [SIGNET, "stdio", str(desk.work / "a,b.py")])
    assert (served.returncode, "a_b.add" in served.stdout) == (0, True), served.stderr


def test_a_target_of_bytes_that_are_not_utf_8_cannot_be_written(desk: Desk) -> None:
    (desk.work / os.fsdecode(b"\xff.py")).touch()

    done = desk.run("install", "goose", os.fsdecode(b"\xff.py"))

    assert done.returncode == 2
    assert "is not UTF-8 and cannot be written into a file" in done.stderr


@pytest.mark.parametrize("name", ["a.b", "-a", "a b", "x" * 65, "é", "a\n"])
def test_a_name_that_some_client_does_not_take_is_refused(desk: Desk, name: str) -> None:
    done = desk.run("install", "codex", f"--name={name}", "boj")

    assert (done.returncode, desk.files()) == (2, {})
    assert "--name takes up to 64 letters" in done.stderr


def test_without_a_script_beside_python_the_module_is_started(desk: Desk) -> None:
    python = desk.home / "python3"
    python.symlink_to(os.path.realpath(sys.executable))
    packages = os.pathsep.join([str(ROOT / "src"), *(path for path in sys.path if "site-packages" in path)])

    done = desk.run_apart("install", "cursor", "--print", program=(str(python), "-m", "signet"), PYTHONPATH=packages)

    assert json.loads(done.stdout)["mcpServers"]["signet"] == {
        "command": str(python),
        "args": ["-m", "signet", "stdio"],
    }


ENVIRONMENTS = {"cursor": "env", "codex": "env", "goose": "envs", "opencode": "environment"}


@pytest.mark.parametrize("client", ENVIRONMENTS)
def test_a_variable_is_written_if_it_is_given_and_never_otherwise(desk: Desk, client: str) -> None:
    plain = desk.run("install", client, SIGNET_TOKEN="hush-hush", OJ_TOKEN="hush-hush")

    assert plain.returncode == 0
    assert b"hush" not in b"".join(desk.files().values())

    told = desk.run("install", client, "--force", "--env", "OJ_TOKEN=hush=hush", "--env", "A=")

    assert (told.returncode, told.stderr) == (0, "")
    assert "hush" not in told.stdout
    assert str({ENVIRONMENTS[client]: {"OJ_TOKEN": "hush=hush", "A": ""}})[1:-1] in str(read(desk.file(client)))


def test_a_variable_without_a_value_is_refused_without_repeating_it(desk: Desk) -> None:
    done = desk.run("install", "cursor", "--env", "hush")

    assert (done.returncode, done.stderr) == (2, "signet: --env takes NAME=VALUE\n")


@pytest.mark.parametrize("client", USER_FILES)
def test_printing_writes_nothing(desk: Desk, client: str) -> None:
    path = desk.file(client, before(client))

    shown = desk.run("install", client, "--print")

    expected = after(client, SIGNET).decode().removeprefix("\ufeff").rstrip("\n") + "\n"
    assert shown.stdout == expected.replace("\r\n", "\n")
    assert shown.stderr == f"signet: nothing is written; this would be {path}\n"
    assert desk.files() == {USER_FILES[client]: before(client)}


def test_printing_a_removal_writes_nothing_either(desk: Desk) -> None:
    desk.file("cursor", after("cursor", SIGNET))

    shown = desk.run("uninstall", "cursor", "--print")

    assert shown.stdout == before("cursor").decode().replace("\r\n", "\n")
    assert desk.files() == {USER_FILES["cursor"]: after("cursor", SIGNET)}


def test_printing_the_removal_of_a_whole_file_says_so(desk: Desk) -> None:
    desk.run("install", "cursor")
    path = desk.file("cursor")

    shown = desk.run("uninstall", "cursor", "--print")

    expected = f"signet: nothing is written; {path} would be removed, because it holds signet alone\n"
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, "", expected)
    assert path.exists()


@pytest.mark.parametrize("client", USER_FILES)
def test_another_entry_of_the_name_is_replaced_only_by_force(desk: Desk, client: str) -> None:
    path = desk.file(client, after(client, "/old/signet"))

    refused = desk.run("install", client)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"{path} has another signet: --force replaces it" in refused.stderr
    assert desk.files() == {USER_FILES[client]: after(client, "/old/signet")}

    forced = desk.run("install", client, "--force")

    assert forced.stdout.startswith(f"replaced signet in {path} (backup: {path}.before-signet.bak)\n")
    assert json.dumps(SIGNET) in path.read_text(encoding="utf-8")
    assert Path(f"{path}.before-signet.bak").read_bytes() == after(client, "/old/signet")

    assert desk.run("uninstall", client).returncode == 0
    assert b"signet" not in path.read_bytes().replace(b'"/a": {"mcpServers": {"signet": {}}}', b"")


def test_a_backup_is_never_overwritten_by_another_content(desk: Desk) -> None:
    path = desk.file("cursor", b'{"mcpServers": {"signet": {"command": "theirs"}}}')
    backups = [Path(f"{path}.before-signet{number}.bak") for number in ("", ".2", ".3")]

    done = [desk.run("install", "cursor", "--force", "--env", f"A={number}") for number in (1, 2, 1, 2, 1)]

    assert [str(backup) in run.stdout for backup, run in zip(backups, done, strict=False)] == [True] * 3
    assert backups[0].read_bytes() == b'{"mcpServers": {"signet": {"command": "theirs"}}}'
    later = [json.loads(backup.read_bytes())["mcpServers"]["signet"]["env"] for backup in backups[1:]]
    assert later == [{"A": "1"}, {"A": "2"}]
    assert len(desk.files()) == 4, "the same content is kept once"


def test_the_entry_of_another_target_is_taken_out_only_by_force(desk: Desk) -> None:
    for folder in ("one", "two"):
        (desk.work / folder).mkdir()
        (desk.work / folder / "tools.py").touch()
    desk.run("install", "cursor", "one/tools.py")
    path = desk.file("cursor")
    written = path.read_bytes()

    refused = desk.run("uninstall", "cursor", "two/tools.py")

    assert (refused.returncode, path.read_bytes()) == (2, written)
    assert f"tools in {path} serves something else than two/tools.py: --force takes it out" in refused.stderr
    assert desk.run("uninstall", "cursor", "two/tools.py", "--force").returncode == 0
    assert not path.exists()


def test_the_entry_of_a_target_that_is_gone_is_taken_out(desk: Desk) -> None:
    (desk.work / "tools.py").touch()
    desk.run("install", "goose", "tools.py")
    (desk.work / "tools.py").unlink()

    assert desk.run("uninstall", "goose", "tools.py").returncode == 0
    assert desk.files() == {}


@pytest.mark.parametrize("order", [("signet", "boj"), ("boj", "signet")])
@pytest.mark.parametrize("client", USER_FILES)
def test_two_entries_can_be_taken_out_in_any_order(desk: Desk, client: str, order: tuple[str, str]) -> None:
    path = desk.file(client, before(client))
    for words in ((), ("boj",)):
        assert desk.run("install", client, *words).returncode == 0

    for name in order:
        assert desk.run("uninstall", client, "--name", name).returncode == 0

    assert path.read_bytes() == before(client)


def test_what_others_have_changed_since_stays(desk: Desk) -> None:
    path = desk.file("cursor", b'{"mcpServers": {}}')
    desk.run("install", "cursor")
    path.write_text(path.read_text(encoding="utf-8").replace("{", '{ "x": 1, ', 1), encoding="utf-8")
    changed = path.read_bytes()

    done = desk.run("uninstall", "cursor")

    assert path.read_bytes() == b'{ "x": 1, "mcpServers": {}}'
    backup = Path(f"{path}.before-removal-of-signet.bak")
    assert backup.read_bytes() == changed
    assert done.stdout == f"took signet out of {path} (backup: {backup})\n"


def test_an_entry_that_is_not_there_is_not_taken_out(desk: Desk) -> None:
    path = desk.file("zed", before("zed"))

    done = desk.run("uninstall", "zed")

    assert (done.returncode, done.stdout) == (0, f"there is no signet in {path}: nothing to change\n")
    assert desk.files() == {USER_FILES["zed"]: before("zed")}


@pytest.mark.parametrize(("client", "name"), [("zed", "other"), ("codex", "docs"), ("goose", "developer")])
def test_a_server_of_others_is_taken_out_only_by_force(desk: Desk, client: str, name: str) -> None:
    path = desk.file(client, before(client))

    refused = desk.run("uninstall", client, "--name", name)

    assert (refused.returncode, path.read_bytes()) == (2, before(client))
    assert "does not start Signet" in refused.stderr

    assert desk.run("uninstall", client, "--name", name, "--force").returncode == 0
    assert name not in path.read_text(encoding="utf-8").replace("of others", "").replace("/docs", "")


@pytest.mark.parametrize("client", REMOTE)
def test_an_address_with_more_than_signet_writes_is_of_others(desk: Desk, client: str) -> None:
    desk.run("install", client, "--url", "http://127.0.0.1:8080")
    path = desk.file(client)
    plain = path.read_bytes()
    place = plain.rindex(b"http://127.0.0.1:8080/mcp")
    key, line = {".toml": (b"bearer_token_env_var = ", b"\n"), ".yaml": (b"    description: ", b"\n")}.get(
        path.suffix, (b'"headers": ', b",")
    )
    start = max(plain.rfind(mark, 0, place) for mark in (b"{", b"\n", b",")) + 1
    path.write_bytes(plain[:start] + key + b'"x"' + line + plain[start:])
    changed = path.read_bytes()

    refused = desk.run("uninstall", client)

    assert (refused.returncode, path.read_bytes()) == (2, changed), refused.stdout
    assert "signet in" in refused.stderr
    assert "does not start Signet" in refused.stderr
    path.write_bytes(plain)
    assert desk.run("uninstall", client).returncode == 0


BROKEN = {
    "cursor": (b'{\n  "mcpServers": {\n', "line 3: Expecting property name"),
    "vscode": (b'{"servers": {}\n\xff}', "line 2: a byte that is not UTF-8"),
    "gemini": ('{"a": 1}'.encode("utf-16"), "line 1: a byte that is not UTF-8"),
    "codex": (b'mcp_servers = { a = { command = "x" } }\n', "mcp_servers is written as one value"),
    "goose": (b"extensions: {a: {b: 1}}\n", "line 1: extensions is written on one line"),
    "zed": (b'{"context_servers": []}', 'line 1: "context_servers" holds no object'),
    "opencode": (b"[]", "line 1: the file holds no object"),
}


@pytest.mark.parametrize("client", BROKEN)
def test_a_file_that_cannot_be_edited_is_left_alone_and_the_entry_shown(desk: Desk, client: str) -> None:
    content, reason = BROKEN[client]
    path = desk.file(client, content)

    done = desk.run("install", client)

    head, _, by_hand = done.stderr.partition("\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert head.startswith(f"signet: {path}, {reason}")
    assert head.endswith("; the file is left as it is: write this into it by hand")
    assert SIGNET in by_hand
    assert desk.files() == {USER_FILES[client]: content}
    assert desk.run("uninstall", client).returncode in {0, 2}
    assert desk.files() == {USER_FILES[client]: content}


def test_a_link_is_written_through_and_the_mode_stays(desk: Desk) -> None:
    real = desk.home / "dotfiles/cursor.json"
    real.parent.mkdir()
    real.write_bytes(before("cursor"))
    real.chmod(0o640)
    path = desk.file("cursor")
    path.parent.mkdir()
    path.symlink_to(real)

    assert desk.run("install", "cursor").returncode == 0

    backup = Path(f"{path}.before-signet.bak")
    assert path.is_symlink()
    assert real.read_bytes() == after("cursor", SIGNET)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (real, backup)] == [0o640, 0o640]
    assert os.listdir(real.parent) == ["cursor.json"]

    assert desk.run("uninstall", "cursor").returncode == 0
    assert path.is_symlink()
    assert real.read_bytes() == before("cursor")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_link_to_nothing_gets_its_file(desk: Desk) -> None:
    path = desk.file("cursor")
    path.parent.mkdir()
    path.symlink_to(desk.home / "dotfiles/cursor.json")

    assert desk.run("install", "cursor").returncode == 0
    assert path.is_symlink()
    assert (desk.home / "dotfiles/cursor.json").is_file()


def test_a_folder_or_a_pipe_in_the_place_of_the_file_is_refused(desk: Desk) -> None:
    path = desk.file("cursor")
    path.mkdir(parents=True)
    pipe = desk.file("zed")
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)

    assert desk.run("install", "cursor").stderr == f"signet: {path} cannot be read (Is a directory)\n"
    assert desk.run("install", "zed").stderr == f"signet: {pipe} cannot be read (Not a regular file)\n"


def test_a_file_of_more_than_eight_mebibytes_is_left_alone_and_the_entry_shown(desk: Desk) -> None:
    path = desk.file("cursor", b'{"a": 1}' + b" " * 8 * 1024 * 1024)

    done = desk.run("install", "cursor")

    head, _, by_hand = done.stderr.partition("\n")
    reason = "which is larger than 8388608 bytes; the file is left as it is: write this into it by hand"
    assert (done.returncode, head) == (2, f"signet: {path}, {reason}")
    assert json.loads(by_hand)["mcpServers"]["signet"]["command"] == SIGNET
    assert path.stat().st_size > 8 * 1024 * 1024
    assert desk.run("uninstall", "cursor").returncode == 2
    assert len(desk.files()) == 1


def test_a_folder_that_cannot_be_made_is_a_sentence(desk: Desk) -> None:
    (desk.home / ".cursor").touch()

    done = desk.run("install", "cursor")

    assert done.returncode in {1, 2}
    assert "Traceback" not in done.stderr
    assert str(desk.home / ".cursor") in done.stderr


def test_opencode_in_the_other_spelling_is_found(desk: Desk) -> None:
    path = desk.file("opencode").with_suffix(".jsonc")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{} // mine\n")

    assert desk.run("install", "opencode").returncode == 0
    assert SIGNET in path.read_text(encoding="utf-8")
    assert not desk.file("opencode").exists()


def test_the_form_of_opencode_1_is_told(desk: Desk) -> None:
    desk.file("opencode", b'{"mcp": {"old": {"type": "local", "command": ["x"]}}}')

    done = desk.run("install", "opencode")

    assert done.returncode == 0
    assert "mcp.old is in the form of opencode 1" in done.stderr


def test_an_unknown_client_is_refused_with_the_names_of_all(desk: Desk) -> None:
    done = desk.run("install", "emacs")

    assert done.returncode == 2
    assert all(client in done.stderr for client in USER_FILES)


async def tools_of(server: Any) -> set[str]:
    async with Client(server) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("client", ["claude-desktop", "codex", "goose", "opencode"])
def test_what_is_written_starts_a_server_from_another_folder_with_an_empty_path(desk: Desk, client: str) -> None:
    """By the official SDK, with exactly the command of the file."""
    assert desk.run("install", client, "plantuml", "--env", "SIGNET_JOURNAL=no").returncode == 0
    whole = read(desk.file(client))
    servers = whole.get("mcpServers") or whole.get("mcp_servers") or whole.get("extensions") or whole["mcp"]["servers"]
    entry = servers["plantuml"]
    command = entry.get("cmd") or entry["command"]
    words = [command, *entry["args"]] if isinstance(command, str) else command
    env = entry.get("env") or entry.get("envs") or entry["environment"]
    server = StdioServerParameters(command=words[0], args=words[1:], env={**env, "PATH": ""}, cwd="/")

    assert asyncio.run(tools_of(server)) == {"encodePlantUML"}


def test_an_address_that_is_written_is_answered(desk: Desk) -> None:
    with serving("--toolsets", "plantuml") as running:
        assert desk.run("install", "gemini", "--url", running.url).returncode == 0
        url = read(desk.file("gemini"))["mcpServers"]["signet"]["httpUrl"]

        assert asyncio.run(tools_of(url)) == {"encodePlantUML"}
