"""The end of an audit log's file: what was done to it by hand stays to be seen, whatever is written behind it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from audit_logs import lines_in, rehashed
from commands_in_process import run_here
from processes import SIGNET, piping
from signet.kernel.caller import Caller
from signet.kernel.exchange import Exchange
from signet.operations.audit.ending import end_of, whole_size
from signet.operations.audit.log import AuditLog

EXCHANGE = Exchange(Caller(address="127.0.0.1"), "rest", "POST /api/tools/x", 200)
Lines = list[bytes]


def open_log(path: Path, key: str | None = None) -> AuditLog:
    log = AuditLog(str(path), key, lambda _: "", [].append)
    log.start()
    return log


def verify(*paths: Path, key: str | None = None) -> tuple[int, str]:
    done = run_here("audit", "verify", *map(str, paths), env={"SIGNET_AUDIT_KEY": key} if key else None)
    return done.returncode, done.stdout.decode()


def made_anew(lines: Lines) -> Lines:
    """Return lines with the seq, counts and hashes that they would have one behind the other."""
    made: Lines = []
    previous, calls = "0" * 64, 0
    for number, text in enumerate(lines, 1):
        line = json.loads(text)
        calls += line["kind"] == "request" and line["tool"] is not None and line["refusal"] is None
        told = {name: value for name, value in line.items() if name not in {"calls", "seq", "prev", "hash"}}
        told |= {"lines": number} if "lines" in told else {}
        content = json.dumps({**told, "calls": calls, "seq": number, "prev": previous}, separators=(",", ":"))
        made.append(rehashed(content[:-1].encode() + b',"hash":"', bytes))
        previous = json.loads(made[-1])["hash"]
    return made


def edited(lines: Lines) -> Lines:
    return [*lines[:-1], rehashed(lines[-1], lambda content: content.replace(b"127.0.0.1", b"203.0.113.77"))]


FORGED: dict[str, Callable[[Lines], Lines]] = {
    "the last line edited": edited,
    "all lines made anew": lambda lines: made_anew(
        [*lines[:2], *(line.replace(b"127", b"203.0") for line in lines[2:])]
    ),
    "a line removed, and one made up": lambda lines: made_anew([*lines[:2], *lines[3:], lines[3]]),
    "a line removed, and two made up": lambda lines: made_anew([*lines[:2], *lines[3:], lines[3], lines[3]]),
    "two requests made up": lambda lines: made_anew([*lines, *lines[2:4]]),
    "one more than an append made up": lambda lines: made_anew([*lines, *lines[:1] * 4]),
    "many lines made up": lambda lines: made_anew(lines * 20),
}


@pytest.mark.parametrize("kind", FORGED)
@pytest.mark.parametrize("is_running", [True, False])
def test_lines_that_were_forged_are_found_before_and_behind_the_next_request(
    tmp_path: Path, kind: str, *, is_running: bool
) -> None:
    path = tmp_path / "audit.log"
    log = open_log(path)
    for number in range(5):
        log(Exchange(Caller(address="127.0.0.1", request_id=f"id-{number}"), "rest", "POST /api/tools/x", 200))
    if not is_running:
        log.release()
    path.write_bytes(b"".join(FORGED[kind](path.read_bytes().splitlines(keepends=True))))
    found = verify(path)
    log = log if is_running else open_log(path)
    log(EXCHANGE)
    after = verify(path)
    log.close()

    assert (found[0], after[0], verify(path)[0]) == (1, 1, 1), (found, after)


@pytest.mark.parametrize("key", [None, "a-key"])
@pytest.mark.parametrize("half", [b"", b'{"kind":"request","ti'])
def test_lines_of_a_process_that_was_killed_before_it_wrote_the_head_are_kept(
    tmp_path: Path, key: str | None, half: bytes
) -> None:
    path, head = tmp_path / "audit.log", tmp_path / "audit.log.head"
    log = open_log(path, key)
    log(EXCHANGE)
    behind = head.read_bytes()
    log(EXCHANGE)
    log.release()
    head.write_bytes(behind)
    path.write_bytes(path.read_bytes() + half)

    log = open_log(path, key)
    log(EXCHANGE)
    log.close()

    assert verify(path, key=key)[0] == 0
    assert len(path.read_bytes().splitlines()) == 6


def test_the_first_lines_of_a_file_are_kept_too_where_the_head_names_the_file_before(tmp_path: Path) -> None:
    path, old, head = (tmp_path / name for name in ("audit.log", "audit.log.1", "audit.log.head"))
    open_log(path).close()
    path.rename(old)
    before = head.read_bytes()
    open_log(path).release()
    head.write_bytes(before)

    log = open_log(path)
    log(EXCHANGE)
    log.close()

    assert [line.get("event") for line in lines_in(path)] == ["unclosed", "started", "started", None, "stopped"]
    assert verify(old, path)[0] == 0


def test_a_log_that_was_copied_with_its_head_goes_on(tmp_path: Path) -> None:
    path, copy = tmp_path / "audit.log", tmp_path / "copy.log"
    open_log(path).close()
    shutil.copyfile(path, copy)
    shutil.copyfile(f"{path}.head", f"{copy}.head")

    open_log(copy).close()

    assert (verify(copy)[0], len(lines_in(copy))) == (0, 4)


@pytest.mark.parametrize("has_head", [True, False])
@pytest.mark.parametrize(("first", "then"), [(None, "key"), ("key", None), ("key", "other")])
def test_another_key_than_that_of_the_lines_is_refused_until_the_file_is_moved(
    tmp_path: Path, first: str | None, then: str | None, *, has_head: bool
) -> None:
    path, old, head = (tmp_path / name for name in ("audit.log", "audit.log.1", "audit.log.head"))
    open_log(path, first).close()
    if not has_head:
        head.unlink()
    written = path.read_bytes()
    flags = ("stdio", "--toolsets", "plantuml", "--no-journal", "--audit-log", str(path))
    env = {"SIGNET_AUDIT_KEY": then} if then else None

    refused = run_here(*flags, env=env)

    assert (refused.returncode, b"move the file first" in refused.stderr) == (2, True)
    assert len(refused.stderr.splitlines()) == 1
    assert path.read_bytes() == written
    path.rename(old)
    with piping(SIGNET, *flags, env=env) as pipe:
        assert pipe.finish()[0] == 0
    last = json.loads(written.splitlines()[-1])["hash"] if has_head else "0" * 64
    done = run_here("audit", "verify", str(path), "--follows", last, env=env)
    assert done.returncode == 0, done.stdout


def test_a_long_line_that_is_not_ours_is_not_taken_for_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = open_log(path)
    log(EXCHANGE)
    with path.open("ab") as file:
        file.write(b"x" * 20_000)

    log(EXCHANGE)
    log.close()

    assert path.stat().st_size > 20_000
    assert verify(path)[0] == 1


def test_what_is_read_of_a_file_does_not_grow_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.log"
    log = open_log(path)
    for _ in range(5):
        log(EXCHANGE)
    known = log._file._tail
    path.write_bytes(path.read_bytes() * 1000)
    read: list[int] = []
    monkeypatch.setattr("os.pread", lambda _, count, __: read.append(count) or b"")
    monkeypatch.setattr("os.read", lambda _, count: read.append(count) or b"")
    with path.open("rb") as file:
        size = path.stat().st_size
        end_of(file.fileno(), whole_size(file.fileno(), size), known.inode, known, log._seal)

    assert size > 1_000_000
    assert 0 < sum(read) < 100_000
