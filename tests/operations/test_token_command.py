"""`signet token`: tokens made, listed, rotated and revoked by a person at a terminal."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from processes import ROOT, SIGNET, clean_env, serving
from signet.commands.cli import main


class Done(NamedTuple):
    """What a command has done."""

    returncode: int
    stdout: str
    stderr: str


def run(*words: str, env: Mapping[str, str] | None = None) -> Done:
    """Run one command in this process, in the environment of a user who has set none of our variables."""
    out, err = StringIO(), StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        for name in os.environ:
            patch.delenv(name)
        for name, value in clean_env(env).items():
            patch.setenv(name, value)
        status = main(list(words))
    return Done(status, out.getvalue(), err.getvalue())


def new(path: Path, *words: str) -> str:
    """Make a token and return it."""
    done = run("token", "new", *words, "--tokens-file", str(path))
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def listed(path: Path) -> list[list[str]]:
    done = run("token", "list", "--tokens-file", str(path))
    return [re.split(r"  +", line) for line in done.stdout.splitlines()]


def test_the_printed_token_opens_the_server_until_it_is_revoked(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    token = new(path, "alice")
    headers = {"authorization": f"Bearer {token}"}

    with serving("--toolsets", "plantuml", "--no-journal", env={"SIGNET_TOKENS_FILE": str(path)}) as server:
        before = server.ask("GET", "/api/tools", headers=headers).status
        without = server.ask("GET", "/api/tools").status
        done = run("token", "revoke", "alice", "--tokens-file", str(path))
        while (after := server.ask("GET", "/api/tools", headers=headers)).status == 200:
            pass

    assert (before, without, after.status) == (200, 401, 401)
    assert (done.returncode, done.stderr) == (0, "signet: 1 token of alice revoked\n")


def test_the_token_is_all_of_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "tokens"

    done = run("token", "new", "alice", "--tokens-file", str(path))

    assert re.fullmatch(r"signet_[A-Za-z0-9_-]{43}\n", done.stdout)
    sentence = f"the token of alice, valid until it is revoked; it is shown once, and {path} keeps its hash alone:"
    assert done.stderr == f"signet: {sentence}\n"


def test_a_rotation_has_both_tokens_valid_until_the_old_one_is_revoked(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    old = new(path, "alice")
    refused = run("token", "new", "alice", "--tokens-file", str(path))
    young = new(path, "alice", "--rotate")
    both = [row[1] for row in listed(path)[1:]]

    run("token", "revoke", "alice", "--old", "--tokens-file", str(path))

    advice = f"write --rotate to make another, and then 'signet token revoke alice --old --tokens-file {path}'"
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"signet: alice has a valid token already: {advice}\n"
    assert both == ["valid", "valid"]
    states = {row["sha256"]: row["revoked"] is None for row in map(json.loads, path.read_text().splitlines())}
    assert states == {hashlib.sha256(old.encode()).hexdigest(): False, hashlib.sha256(young.encode()).hexdigest(): True}


def test_the_newest_valid_token_is_the_one_that_is_not_old(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    for _ in range(3):
        new(path, "alice", "--rotate")
    lines = list(map(json.loads, path.read_text().splitlines()))
    lines[2]["expires"] = lines[2]["created"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    run("token", "revoke", "alice", "--old", "--tokens-file", str(path))

    assert [row[1] for row in listed(path)[1:]] == ["revoked", "valid", "revoked"]


def test_a_name_whose_tokens_have_ended_may_have_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    new(path, "alice")
    run("token", "revoke", "alice", "--tokens-file", str(path))

    new(path, "alice")

    assert [row[1] for row in listed(path)[1:]] == ["revoked", "valid"]


def test_revoking_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    new(path, "alice")
    run("token", "revoke", "alice", "--tokens-file", str(path))
    before = path.read_text()

    done = run("token", "revoke", "alice", "--tokens-file", str(path))

    assert (done.returncode, done.stderr) == (0, "signet: there was nothing to revoke\n")
    assert path.read_text() == before


def test_the_list_shows_names_scopes_expiry_and_state_and_no_hash(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    tokens = [
        new(path, "alice", "--scopes", "tools:call:plantuml.encode,tools:call:plantuml.decode"),
        new(path, "bob", "--expires", "2090-01-31"),
        new(path, "carol"),
    ]
    run("token", "revoke", "carol", "--tokens-file", str(path))

    rows = listed(path)
    as_json = run("token", "list", "--json", "--tokens-file", str(path)).stdout

    assert rows[0] == ["name", "state", "scopes", "created", "expires"]
    assert [[*row[:3], row[4]] for row in rows[1:]] == [
        ["alice", "valid", "tools:call:plantuml.encode tools:call:plantuml.decode", "-"],
        ["bob", "valid", "tools:call", "2090-01-31T00:00:00Z"],
        ["carol", "revoked", "tools:call", "-"],
    ]
    assert [(row["name"], row["state"], row["expires"]) for row in json.loads(as_json)["tokens"]] == [
        ("alice", "valid", None),
        ("bob", "valid", "2090-01-31T00:00:00Z"),
        ("carol", "revoked", None),
    ]
    for token in tokens:
        digest = hashlib.sha256(token.encode()).hexdigest()
        assert digest[:8] not in as_json + str(rows)


@pytest.mark.parametrize(
    ("text", "span"),
    [("45s", timedelta(seconds=45)), ("90m", timedelta(minutes=90)), ("12h", timedelta(hours=12)),
     ("30d", timedelta(days=30)), ("8w", timedelta(weeks=8))],
)  # fmt: skip
def test_a_token_ends_after_its_span_and_never_before(tmp_path: Path, text: str, span: timedelta) -> None:
    path = tmp_path / "tokens"
    before = datetime.now(UTC)

    new(path, "alice", "--expires", text)

    expires = datetime.fromisoformat(json.loads(path.read_text())["expires"])
    assert before + span <= expires <= datetime.now(UTC) + span + timedelta(seconds=1)


def test_the_file_may_be_named_by_a_variable_or_in_the_file_of_settings(tmp_path: Path) -> None:
    path, settings = tmp_path / "tokens", tmp_path / "signet.toml"
    settings.write_text('tokens_file = "tokens"\n')

    by_variable = run("token", "new", "alice", env={"SIGNET_TOKENS_FILE": str(path)})
    by_file = run("token", "new", "bob", "--config", str(settings))

    assert (by_variable.returncode, by_file.returncode) == (0, 0)
    assert [row[0] for row in listed(path)] == ["name", "alice", "bob"]


NAME = "a name has letters, digits and . _ @ + - , at most 100, and begins with a letter or digit"
SCOPES = "write scopes separated by blanks: tools:call for all tools, tools:call:SLUG for one"
EXPIRY = "write a span such as 12h, 30d or 8w, or a date to come such as 2030-01-31"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("new", "a b"), f"this name cannot be used: {NAME}"),
        (("new", "a\nb"), f"this name cannot be used: {NAME}"),
        (("new", ""), f"this name cannot be used: {NAME}"),
        (("new", "x" * 101), f"this name cannot be used: {NAME}"),
        (("new", "token"), "this name cannot be used: token is the name of everybody who has the shared token"),
        (("new", "a", "--scopes", " , "), f"--scopes: {SCOPES}"),
        (("new", "a", "--scopes", 'tools:call"'), f"--scopes: {SCOPES}"),
        (("new", "a", "--expires", "soon"), f"--expires: {EXPIRY}"),
        (("new", "a", "--expires", "0d"), f"--expires: {EXPIRY}"),
        (("new", "a", "--expires", "2020-01-01"), f"--expires: {EXPIRY}"),
        (("new", "a", "--expires", "999999999999w"), f"--expires: {EXPIRY}"),
        (("revoke", "a"), "there is no file {path}: 'signet token new NAME --tokens-file {path}' makes it"),
        (("list",), "there is no file {path}: 'signet token new NAME --tokens-file {path}' makes it"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_sentence_and_makes_no_file(
    tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    path = tmp_path / "tokens"

    done = run("token", *words, "--tokens-file", str(path))

    said = done.stderr
    assert (done.returncode, done.stdout, said.count("\n")) == (2, "", 1)
    assert sentence.format(path=path) in said
    assert not path.exists()


def test_without_a_file_the_command_asks_for_one() -> None:
    done = run("token", "list")

    assert done.returncode == 2
    assert done.stderr == "signet: which file? write --tokens-file FILE, or set SIGNET_TOKENS_FILE\n"


def test_an_unknown_name_and_a_broken_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    new(path, "alice")

    unknown = run("token", "revoke", "bob", "--tokens-file", str(path))
    path.write_text("{")
    broken = run("token", "new", "bob", "--tokens-file", str(path))

    assert unknown.stderr == (
        f"signet: there is no token of that name in {path}: 'signet token list --tokens-file {path}' shows the names\n"
    )
    assert broken.stderr == f"signet: cannot use {path}: line 1 is not JSON\n"
    assert path.read_text() == "{"


def test_a_scope_that_allows_no_tool_is_told(tmp_path: Path) -> None:
    done = run("token", "new", "alice", "--scopes", "tools:cal", "--tokens-file", str(tmp_path / "tokens"))

    sentence = "the scope tools:cal lets nobody call a tool: tools:call does, and tools:call:SLUG for one tool"
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == f"signet: {sentence}"


@pytest.mark.parametrize(
    ("slug", "why"),
    [
        (
            "encodePlantUML",
            "encodePlantUML is the name of a tool, whose slug is plantuml.encode: write tools:call:plantuml.encode",
        ),
        ("*", "a scope is for one tool, or tools:call for all"),
        ("plantuml.*", "a scope is for one tool, or tools:call for all"),
        ("plantuml.encod", "Signet's own toolsets have no tool 'plantuml.encod'; did you mean plantuml.encode?"),
        ("acme.weather", "Signet's own toolsets have no tool 'acme.weather'"),
    ],
)
def test_a_scope_for_a_tool_that_is_not_known_is_told_with_the_nearest(tmp_path: Path, slug: str, why: str) -> None:
    """It may be a tool of the server's own, so the token is made."""
    path = tmp_path / "tokens"
    done = run("token", "new", "alice", "--scopes", f"tools:call:{slug}", "--tokens-file", str(path))

    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == f"signet: the scope tools:call:{slug} may allow nothing: {why}"
    assert json.loads(path.read_text())["scopes"] == [f"tools:call:{slug}"]


def test_of_a_scope_for_a_known_tool_nothing_is_told(tmp_path: Path) -> None:
    done = run(
        "token", "new", "a", "--scopes", "tools:call:boj.get_metadata", "--tokens-file", str(tmp_path / "tokens")
    )

    assert done.stderr.splitlines()[0].startswith("signet: the token of a, valid")


def test_a_token_that_nobody_could_see_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    new(path, "alice")
    before = path.read_bytes()

    with Path("/dev/full").open("wb") as full:
        command = [SIGNET, "token", "new", "bob", "--tokens-file", str(path)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=clean_env(), check=False)

    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[1:] == [
        f"signet: the token was not written, and {path} does not keep it",
        "signet: cannot write to standard output (No space left on device)",
    ]
    assert path.read_bytes() == before


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_knows_the_command(shell: str) -> None:
    script = run("completion", shell).stdout

    assert all(word in script for word in ("revoke", "rotate", "tokens-file"))


def test_the_commands_of_the_page_about_access_do_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/access.md").read_text()
    commands = re.findall(r"^signet (token .*)$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)

    statuses = [run(*shlex.split(command)).returncode for command in commands]

    assert (len(commands), set(statuses)) == (4, {0})
    assert [row[:3] for row in listed(tmp_path / "tokens.jsonl")[1:]] == [
        ["alice", "revoked", "tools:call"],
        ["ci", "valid", "tools:call:plantuml.encode"],
        ["alice", "valid", "tools:call"],
    ]
