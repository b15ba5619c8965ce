"""The file of named tokens: what is in it, who is known by it, and what a running server makes of its changes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands_in_process import run_here
from processes import PATIENCE_S, SIGNET, Server, clean_env, run, serving
from signet.kernel.caller import Principal
from signet.kernel.errors import Fault
from signet.operations.access import named_tokens
from signet.operations.access.named_tokens import NamedTokens
from signet.operations.access.tokens_file import changing_tokens, read_tokens
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.team.access import check_access

PATH = "/api/tools/encodePlantUML"
A = "signet_token-of-alice-0123456789-0123456789-01234567"
B = "signet_token-of-bob-987654321-0987654321-0987654321-"
CREATED = "2026-01-31T12:00:00Z"


def line(text: str, name: str = "alice", **changes: Any) -> dict[str, Any]:
    """Return a line of the file for a token."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    known = {"name": name, "sha256": digest, "scopes": ["tools:call"], "created": CREATED}
    return {**known, "expires": None, "revoked": None, **changes}


def put(path: Path, *lines: object) -> Path:
    """Put a file with these lines in the place of another."""
    new = path.with_suffix(".other")
    new.write_text("".join(json.dumps(one) + "\n" for one in lines))
    new.replace(path)
    return path


def told(tokens: NamedTokens, text: str) -> str:
    """Return the name of the principal of a token, or the sentence that refuses it."""
    found = tokens.identify(text)
    return found.name if isinstance(found, Principal) else found.message


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time by which the file is looked at, to be changed."""
    now = [1000.0]
    monkeypatch.setattr(named_tokens, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def warnings() -> list[str]:
    return []


# --- the file


def test_a_token_is_kept_by_its_hash_in_a_line_of_a_file_that_its_owner_alone_reads(tmp_path: Path) -> None:
    path = tmp_path / "tokens.jsonl"

    done = run("token", "new", "alice", "--tokens-file", str(path), "--scopes", "tools:call:plantuml.encode tools:x")

    token = done.stdout.decode().splitlines()[-1]
    kept = json.loads(path.read_text())
    assert re.fullmatch(r"signet_[A-Za-z0-9_-]{43}", token)
    assert list(kept) == ["name", "sha256", "scopes", "created", "expires", "revoked"]
    assert kept["sha256"] == hashlib.sha256(token.encode()).hexdigest()
    assert kept["scopes"] == ["tools:call:plantuml.encode", "tools:x"]
    assert datetime.now(UTC) - datetime.fromisoformat(kept["created"]) < timedelta(seconds=PATIENCE_S)
    assert (kept["name"], kept["expires"], kept["revoked"]) == ("alice", None, None)
    assert token not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["tokens.jsonl"]


def test_processes_that_make_tokens_at_once_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "tokens.jsonl"
    names = [f"name{number}" for number in range(6)]
    command = [SIGNET, "token", "new", "--tokens-file", str(path)]

    processes = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_env())
        for name in names
    ]
    said = [process.communicate(timeout=PATIENCE_S)[0].decode().strip() for process in processes]

    kept = {token.name: token.sha256 for token in read_tokens(str(path)).values()}
    assert kept == {name: hashlib.sha256(token.encode()).hexdigest() for name, token in zip(names, said, strict=True)}


def test_a_change_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = put(tmp_path / "tokens.jsonl", line(A))
    before = path.read_bytes()

    with pytest.raises(ZeroDivisionError), changing_tokens(str(path)) as tokens:
        tokens.append(tokens[1 // 0])

    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["tokens.jsonl"]


def test_a_full_file_takes_no_further_token(tmp_path: Path) -> None:
    path = put(tmp_path / "t", *(line(str(number)) for number in range(20_000)))
    before = path.read_bytes()

    done = run("token", "new", "bob", "--tokens-file", str(path))

    sentence = "it has more than 20000 lines: remove those of revoked and expired tokens"
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"signet: cannot use {path}: {sentence}\n"
    assert path.read_bytes() == before


def test_a_change_through_a_link_changes_the_file_behind_it(tmp_path: Path) -> None:
    path = put(tmp_path / "tokens.jsonl", line(A))
    link = tmp_path / "link"
    link.symlink_to(path)

    done = run("token", "revoke", "alice", "--tokens-file", str(link))

    assert done.returncode == 0
    assert link.is_symlink()
    assert json.loads(path.read_text())["revoked"] is not None


def test_the_command_for_a_missing_file_of_tokens_makes_one_with_which_the_server_starts(tmp_path: Path) -> None:
    path = tmp_path / "my tokens"
    refused = run("serve", "--port", "0", "--tokens-file", str(path))
    command = refused.stderr.decode().strip().partition("make it: ")[2]

    subprocess.run(["sh", "-c", command], env=clean_env(), check=True, capture_output=True)

    assert refused.returncode == 2
    with serving("--tokens-file", str(path), "--no-journal") as server:
        assert server.ask("GET", "/api/tools").status == 401


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (
        lambda path: path.exists(),
        "there is no file of tokens {path} (SIGNET_TOKENS_FILE); make it: ",
    ),
    "a folder": (lambda path: path.mkdir(), "cannot read the tokens in {path} (Is a directory)"),
    "not JSON": (lambda path: path.write_text(f"{json.dumps(line(A))}\n{{\n"), "{path}: line 2 is not JSON"),
    "not UTF-8": (lambda path: path.write_bytes(b'{"name":"\xff"}'), "{path}: line 1 is not JSON"),
    "a plain token": (lambda path: put(path, {**line(A), "token": A}), "{path}: line 1 is no token: Object contains"),
    "no scopes": (
        lambda path: put(path, {"name": "a", "sha256": "0" * 64, "created": CREATED}),
        "{path}: line 1 is no token: Object missing required field `scopes`",
    ),
    "another hash": (lambda path: put(path, line(B), line(A, sha256="0")), "{path}: line 2 is no token: its sha256"),
    "a name that breaks lines": (
        lambda path: put(path, line(A, "a\nb")),
        "{path}: line 1 is no token: its name cannot be",
    ),
    "a hash that is none": (lambda path: put(path, line(A, sha256="g" * 64)), "{path}: line 1 is no token: its sha256"),
    "a hash in capitals": (lambda path: put(path, line(A, sha256="A" * 64)), "{path}: line 1 is no token: its sha256"),
    "a hash with blanks": (
        lambda path: put(path, line(A, sha256="00 " * 21 + " ")),
        "{path}: line 1 is no token: its sha256",
    ),
    "a scope that is none": (lambda path: put(path, line(A, scopes=['a"'])), "{path}: line 1 is no token: its scopes"),
    "a time without a zone": (
        lambda path: put(path, line(A, expires="2030-01-31T12:00:00")),
        "{path}: line 1 is no token: expires: Expected `datetime` with a timezone component",
    ),
    "one hash twice": (lambda path: put(path, line(A, revoked=CREATED), line(A)), "{path}: two of its lines"),
    "for all to write": (lambda path: put(path, line(A)).chmod(0o666), "{path}: everybody may write to it"),
    "huge": (lambda path: path.write_bytes(b"\n" * 8_388_609), "{path}: it has more than 8388608 bytes"),
    "too many": (
        lambda path: put(path, *(line(str(number)) for number in range(20_001))),
        "{path}: it has more than 20000 lines: remove those",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_cannot_be_used_is_refused_with_one_sentence_that_repeats_no_token(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "tokens.jsonl"
    make, sentence = BROKEN[kind]
    make(path)

    with pytest.raises(UsageError) as refused:
        check_access(Settings(tokens_file=str(path)))

    said = str(refused.value)
    assert sentence.format(path=path) in said
    assert A not in said


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_file_that_cannot_be_used_stops_the_start(tmp_path: Path, workers: str) -> None:
    path = tmp_path / "tokens.jsonl"
    path.write_text("{")
    flags = ("--port", "0", "--toolsets", "plantuml", "--tokens-file", str(path), "--workers", workers)

    done = run_here("serve", *flags)

    sentence = f"signet: cannot use the tokens in {path}: line 1 is not JSON\n"
    assert (done.returncode, done.stderr.decode()) == (2, sentence)


# --- who is known


def test_several_tokens_are_valid_at_once_and_each_tells_who_calls(tmp_path: Path) -> None:
    path = put(tmp_path / "t", line(A), line(B, "bob", scopes=["tools:call:x", "y"]))
    tokens = NamedTokens(str(path), print)

    assert tokens.identify(A) == Principal("alice", frozenset({"tools:call"}))
    assert tokens.identify(B) == Principal("bob", frozenset({"tools:call:x", "y"}))


@pytest.mark.parametrize(
    ("text", "changes", "sentence", "challenge"),
    [
        ("", {}, "Send a token as 'Authorization: Bearer …'", "Bearer"),
        (A + "x", {}, "This token is not known: ask the server's operator for one", None),
        (A, {"expires": CREATED}, "This token has expired: ask the server's operator for a new one", None),
        (A, {"revoked": CREATED}, "This token was revoked: ask the server's operator for a new one", None),
        (A, {"revoked": CREATED, "expires": CREATED}, "This token was revoked: ask the server's operator for a new one",
         None),
    ],
)  # fmt: skip
def test_a_token_that_is_missing_unknown_expired_or_revoked_is_refused_with_a_sentence(
    tmp_path: Path, text: str, changes: dict[str, Any], sentence: str, challenge: str | None
) -> None:
    tokens = NamedTokens(str(put(tmp_path / "t", line(A, **changes))), print)

    fault = tokens.identify(text)

    assert isinstance(fault, Fault)
    assert (fault.status, fault.code, fault.message) == (401, "UNAUTHORIZED", sentence)
    assert tokens.challenge(fault) == (challenge or f'Bearer error="invalid_token", error_description="{sentence}"')


def test_a_token_expires_at_its_moment_without_another_look_at_the_file(tmp_path: Path) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=3)
    tokens = NamedTokens(str(put(tmp_path / "t", line(A, expires=soon.isoformat()))), print)

    before = told(tokens, A)
    while datetime.now(UTC) < soon:
        time.sleep(0.02)

    assert (before, told(tokens, A)) == (
        "alice",
        "This token has expired: ask the server's operator for a new one",
    )


# --- changes of the file


def test_a_change_is_seen_after_a_second_and_the_file_is_not_looked_at_before(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "t", line(A))
    tokens = NamedTokens(str(path), print)
    looks: list[str] = []
    look = named_tokens._version
    monkeypatch.setattr(named_tokens, "_version", lambda path: (looks.append(path), look(path))[1])
    put(path, line(B, "bob"))

    clock[0] += 0.9
    within = [told(tokens, A) for _ in range(100)]
    counted = len(looks)
    clock[0] += 0.2

    assert (set(within), counted) == ({"alice"}, 0)
    assert told(tokens, B) == "bob"
    assert told(tokens, A).startswith("This token is not known")
    assert len(looks) == 1


def test_a_reload_reads_the_file_at_once(tmp_path: Path, clock: list[float]) -> None:
    path = put(tmp_path / "t", line(A, "same1"))
    tokens = NamedTokens(str(path), print)
    swap(path, line(B, "same2"))
    clock[0] += 0.1
    unseen = told(tokens, A)

    tokens.reload()

    assert (unseen, told(tokens, B)) == ("same1", "same2")


def test_a_reload_reads_a_file_that_looks_unchanged(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems tell no times that could be compared."""
    monkeypatch.setattr(named_tokens, "_version", lambda _: (0, 1))
    path = put(tmp_path / "t", line(A))
    tokens = NamedTokens(str(path), print)
    put(path, line(B, "bob"))
    clock[0] += 2
    unseen = told(tokens, A)

    tokens.reload()

    assert (unseen, told(tokens, B)) == ("alice", "bob")


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path, clock: list[float]) -> None:
    path = put(tmp_path / "t", line(A, "same1"))
    tokens = NamedTokens(str(path), print)

    swap(path, line(B, "same2"))
    clock[0] += 2

    assert told(tokens, B) == "same2"


def test_a_file_that_not_everybody_may_write_to_any_more_is_read(
    tmp_path: Path, clock: list[float], warnings: list[str]
) -> None:
    path = put(tmp_path / "t", line(A))
    tokens = NamedTokens(str(path), warnings.append)
    put(path, line(B, "bob")).chmod(0o666)
    clock[0] += 2
    before = told(tokens, A)

    path.chmod(0o664)
    clock[0] += 2

    assert (before, told(tokens, B)) == ("alice", "bob")
    assert told(tokens, A).startswith("This token is not known")
    assert len(warnings) == 1


def test_while_a_large_file_is_read_the_tokens_before_hold_and_nobody_waits(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "t", line(A))
    tokens = NamedTokens(str(path), print)
    begun, may_end, reads = threading.Event(), threading.Event(), []

    def read(path: str) -> object:
        reads.append(threading.current_thread())
        begun.set()
        assert may_end.wait(PATIENCE_S)
        return read_tokens(path)

    monkeypatch.setattr(named_tokens, "read_tokens", read)
    put(path, line(B, "bob"), *(line(str(number)) for number in range(2000)))
    clock[0] += 2

    assert told(tokens, A) == "alice"
    assert begun.wait(PATIENCE_S)
    clock[0] += 2
    tokens.reload()
    assert told(tokens, A) == "alice"
    assert len(reads) == 1
    may_end.set()
    reads[0].join(PATIENCE_S)
    assert told(tokens, B) == "bob"
    # Somebody has asked for another look meanwhile: it comes with the next one.
    clock[0] += 2
    assert told(tokens, B) == "bob"
    assert len(reads) == 2
    reads[1].join(PATIENCE_S)
    assert threading.current_thread() not in reads


def test_a_fault_is_told_by_the_number_of_its_line_in_a_long_file_too(tmp_path: Path) -> None:
    path = put(tmp_path / "t", *(line(str(number)) for number in range(1000)), {"name": "x"}, line(A))

    with pytest.raises(ValueError, match=r"^line 1001 is no token: "):
        read_tokens(str(path))


def test_a_hash_that_is_there_twice_is_found_in_a_long_file_too(tmp_path: Path) -> None:
    path = put(tmp_path / "t", line(A), *(line(str(number)) for number in range(1000)), line(A))

    with pytest.raises(ValueError, match=r"^two of its lines have the same hash"):
        read_tokens(str(path))


def swap(path: Path, *lines: object) -> None:
    """Write other lines of the same size into the file, so that its size, its number and its first time stay."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write("".join(json.dumps(one) + "\n" for one in lines).encode())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


@pytest.mark.parametrize("kind", ["broken", "missing", "for all to write"])
def test_a_file_that_cannot_be_used_any_more_leaves_the_last_one_in_use_with_one_warning(
    tmp_path: Path, clock: list[float], warnings: list[str], kind: str
) -> None:
    path = put(tmp_path / "t", line(A))
    tokens = NamedTokens(str(path), warnings.append)
    match kind:
        case "broken":
            path.write_text("{\n")
        case "missing":
            path.unlink()
        case _:
            put(path, line(B, "bob")).chmod(0o666)

    seen = []
    for _ in range(5):
        clock[0] += 2
        seen.append((told(tokens, A), told(tokens, B)[:23]))
    put(path, line(B, "bob"))
    clock[0] += 2

    reasons = {
        "broken": "line 1 is not JSON",
        "missing": "No such file or directory",
        "for all to write": f"everybody may write to it: chmod o-w {path}",
    }
    assert set(seen) == {("alice", "This token is not known")}
    assert warnings == [f"the tokens in {path} stay as they were: {reasons[kind]}"]
    assert told(tokens, B) == "bob"


def test_a_mounted_secret_whose_link_is_turned_is_read_again(tmp_path: Path, clock: list[float]) -> None:
    for folder, kept in {"one": line(A), "two": line(B, "bob")}.items():
        (tmp_path / folder).mkdir()
        put(tmp_path / folder / "tokens", kept)
    link = tmp_path / "data"
    link.symlink_to("one")
    tokens = NamedTokens(str(link / "tokens"), print)

    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").replace(link)
    clock[0] += 2

    assert told(tokens, B) == "bob"


# --- a running server


def status(server: Server, token: str) -> int:
    return server.post(PATH, {"plantumlCode": "A"}, {"authorization": f"Bearer {token}"}).status


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_hangup_lets_every_process_read_the_file_again_and_ends_none(tmp_path: Path, workers: str) -> None:
    path = put(tmp_path / "t", line(A))
    flags = ("--toolsets", "plantuml", "--tokens-file", str(path), "--workers", workers)
    with serving(*flags) as server:
        # Every worker has answered before the signal: each is there to take it.
        wait_until(lambda: all(status(server, A) == 200 for _ in range(20)))
        swap(path, line(B))

        server.process.send_signal(signal.SIGHUP)

        wait_until(lambda: all((status(server, A), status(server, B)) == (401, 200) for _ in range(20)))
        assert server.process.poll() is None


def test_rotation_and_revocation_under_load_give_no_wrong_answer(tmp_path: Path) -> None:
    path = put(tmp_path / "t", line(A))
    phase = ["before"]
    answers: dict[str, list[tuple[str, str, int]]] = {}
    sent: dict[str, int] = {}

    def call(server: Server, key: str, token: str) -> None:
        while phase[0] != "over":
            sent[key] = sent.get(key, 0) + 1
            at_first = phase[0]
            code = status(server, token)
            answers.setdefault(key, []).append((at_first, phase[0], code))

    flags = ("--toolsets", "plantuml", "--tokens-file", str(path), "--no-journal")
    with serving(*flags) as server:
        callers = [threading.Thread(target=call, args=(server, f"old {number}", A)) for number in range(2)]
        for caller in callers:
            caller.start()
        made = run("token", "new", "alice", "--rotate", "--tokens-file", str(path)).stdout.decode().split()[-1]
        wait_until(lambda: status(server, made) == 200)
        callers += [threading.Thread(target=call, args=(server, f"new {number}", made)) for number in range(2)]
        for caller in callers[2:]:
            caller.start()
        wait_until(lambda: all(len(answers.get(f"new {number}", ())) > 20 for number in range(2)))
        phase[0] = "revoking"
        run("token", "revoke", "alice", "--old", "--tokens-file", str(path))
        wait_until(lambda: status(server, A) == 401)
        phase[0] = "after"
        counts = {key: len(each) for key, each in answers.items()}
        wait_until(lambda: all(len(answers[key]) > count + 20 for key, count in counts.items()))
        phase[0] = "over"
        for caller in callers:
            caller.join(PATIENCE_S)

    assert {key: len(each) for key, each in answers.items()} == sent
    assert {code for key, each in answers.items() if "new" in key for _, _, code in each} == {200}
    old = [one for key, each in answers.items() if "old" in key for one in each]
    assert {code for _, last, code in old if last == "before"} == {200}
    assert {code for first, _, code in old if first == "after"} == {401}
    assert {code for _, _, code in old} == {200, 401}


def test_no_token_is_in_a_log_line_or_in_the_journal_whatever_became_of_it(tmp_path: Path) -> None:
    canaries = [f"signet_canary{number}-{'x' * 40}" for number in range(4)]
    path = put(
        tmp_path / "t",
        line(canaries[0]),
        line(canaries[1], "expired", expires=CREATED),
        line(canaries[2], "gone", revoked=CREATED),
    )
    flags = (
        "--toolsets",
        "plantuml",
        "--tokens-file",
        str(path),
        "--log",
        "trace",
        "--log-dir",
        str(tmp_path / "runs"),
    )
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    envelope = {"jsonrpc": "2.0", "id": 1, "method": "mcp.tool.invoke", "params": {"tool": "mcp.tool:plantuml.encode"}}
    bodies = {PATH: {"plantumlCode": "A"}, "/mcp": message, "/mcp/tool/plantuml.encode": envelope, "/nowhere": {}}

    with serving(*flags) as server:
        replies = [
            server.post(path, body, {"authorization": f"Bearer {canary}"})
            for canary in canaries
            for path, body in bodies.items()
        ]
        path.write_text(f"{canaries[0]}\n")
        wait_until(lambda: status(server, canaries[0]) and "tokens.unreadable" in server.stderr())
        written = server.stderr()
    journal = "".join(file.read_text() for file in (tmp_path / "runs").rglob("*") if file.is_file())

    assert [reply.status for reply in replies] == [200, 200, 400, 404] + [401] * 12
    assert "request.refused address=127.0.0.1 status=401 reason=UNAUTHORIZED" in written
    assert "principal=alice" in written
    assert "plantuml.encode" in journal
    for text in (written, journal, *(str(reply.headers) + reply.body.decode() for reply in replies)):
        assert "canary" not in text


ATTACKS = {
    "ten megabytes": (b"authorization: Bearer " + b"x" * 10_000_000 + b"\r\n", b"431"),
    "two headers": (b"authorization: Bearer %s\r\nauthorization: Bearer x\r\n" % A.encode(), b"400"),
    "twice the same": (b"authorization: Bearer %s\r\n" % A.encode() * 2, b"400"),
    "a control character": (b"authorization: Bearer %s\x00\r\n" % A.encode(), b"400"),
    "a folded line": (b"authorization: Bearer\r\n %s\r\n" % A.encode(), b"400"),
    "bytes that are no text": (b"authorization: Bearer \xff\xfe\xc3\r\n", b"401"),
    "another scheme": (b"authorization: Basic %s\r\n" % A.encode(), b"401"),
    "no scheme": (b"authorization: %s\r\n" % A.encode(), b"401"),
    "no token": (b"authorization: Bearer \r\n", b"401"),
    "two tokens": (b"authorization: Bearer %s, %s\r\n" % (A.encode(), A.encode()), b"401"),
    "the hash": (b"authorization: Bearer %s\r\n" % hashlib.sha256(A.encode()).hexdigest().encode(), b"401"),
    "a query": (b"", b"401"),
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = put(tmp_path_factory.mktemp("tokens") / "t", line(A))
    with serving("--toolsets", "plantuml", "--tokens-file", str(path), "--no-journal") as server:
        yield server


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_head_that_is_no_honest_token_is_refused_and_the_next_caller_is_served(guarded: Server, attack: str) -> None:
    fields, expected = ATTACKS[attack]
    head = b"GET /mcp?token=%s HTTP/1.1\r\nhost: localhost\r\n%b\r\n" % (A.encode(), fields)

    with guarded.connect() as connection:
        # The server need not read it to its end.
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(head)
        answer = _read(connection)

    assert answer[9:12] == expected
    assert status(guarded, A) == 200


def _read(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65_536)
    except ConnectionResetError:
        return b""
