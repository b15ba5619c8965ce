"""Record and replay: a recorded run, played again with the network cut off, gives the same bytes and journal."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import boj_harness
import oj_harness
from commands_in_process import run_here
from door_calls import rpc
from journals import differences
from processes import SIGNET, Pipe, piping, run, serving
from signet.journal.record import VOLATILE
from signet.journal.retention import FOLDER, LATEST
from signet.recording.exchanges import ExchangeReader, ExchangeWriter
from signet.recording.folder import read_recording
from signet.recording.label import new_label
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.system.recording_redactor import RecordingRedactor

TOKEN = 'tok-5f1d9c77e2"/+é'[:-1]
"""It holds characters that JSON and URLs escape."""
PROBLEM = {"source": oj_harness.SAMPLE[0], "id": oj_harness.SAMPLE[1]}
CUT_OFF = """
import importlib, os, sys
forbidden = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
def guard(event, args):
    if event in forbidden or (event == "import" and args[0] == "aiohttp" and AIOHTTP_TOO):
        os.write(2, f"FORBIDDEN {event} {args}\\n".encode())
        raise PermissionError(1, "the network is cut off")
sys.addaudithook(guard)
sys.exit(importlib.import_module(sys.argv.pop(1)).main())
"""

Step = tuple[Callable[[Any], None] | None, str, dict[str, Any]]
"""What to tell the upstream first, then the tool and its arguments."""


def failing(fault: str, **parameters: Any) -> Callable[[Any], None]:
    """Order a fault for the next request."""
    return lambda upstream: upstream.order(fault, times=1, **parameters)


def answering(value: object, **parameters: Any) -> Callable[[Any], None]:
    return lambda upstream: upstream.answers(value, times=1, **parameters)


OJ_RUN: list[Step] = [
    (None, "get_problem", PROBLEM),
    (None, "get_problem", {"source": "leetcode", "id": "none-such"}),
    (answering({**oj_harness.PROBLEM, "title": "Another"}), "get_problem", PROBLEM),
    (failing("status", status=500), "get_problem", PROBLEM),
    (failing("reset"), "get_problem", PROBLEM),
    (failing("close"), "resolve_problem", {"query": "leetcode:9001"}),
    (answering({"status": "fetching", "retry_after": 30}, status=202), "get_daily_challenge", {"date": "2026-01-31"}),
    (failing("huge"), "get_problem", PROBLEM),
    (failing("cut"), "get_problem", PROBLEM),
    (failing("invalid_utf8"), "get_problem", PROBLEM),
    (failing("html"), "get_problem", PROBLEM),
    (failing("redirect", hops=2), "get_problem", PROBLEM),
    (None, "find_similar_problems", {"query": "pairs that add up", "limit": 3}),
    (None, "get_platform_status", {}),
    (None, "get_problem", {"source": 1}),
    (None, "nobody", {"x": 1}),
    (None, "get_problem", PROBLEM),
]
BOJ_RUN: list[Step] = [
    (None, boj_harness.METADATA, boj_harness.CALL_RATE),
    (None, boj_harness.METADATA, boj_harness.CALL_RATE),
    (lambda boj: boj.refuses("M181091S", times=2), boj_harness.CODE, boj_harness.SPOT),
    (lambda boj: boj.refuses("M181013E", times=1), boj_harness.CODE, boj_harness.SPOT),
    (failing("reset"), boj_harness.LAYER, boj_harness.DEPOSITS),
    (lambda boj: boj.refuses("M181090S", times=3), boj_harness.LAYER, boj_harness.DEPOSITS),
    (None, boj_harness.CODE, {**boj_harness.SPOT, "format": "csv"}),
    (failing("not_json"), boj_harness.CODE, boj_harness.SPOT),
    (None, boj_harness.CODE, {"db": "FM08"}),
    (None, boj_harness.CODE, boj_harness.SPOT),
]
RUNS = {"oj": ("signet.commands.oj_mcp", OJ_RUN), "boj": ("signet.commands.boj_mcp", BOJ_RUN)}


def command(module: str, *flags: str, aiohttp_too: bool = True) -> tuple[str, ...]:
    """Return a command whose process may not open a connection."""
    return sys.executable, "-c", f"AIOHTTP_TOO = {aiohttp_too}\n{CUT_OFF}", module, *flags


@contextlib.contextmanager
def upstream_of(name: str) -> Iterator[Any]:
    with oj_harness.oj_sandbox(TOKEN) if name == "oj" else boj_harness.boj_sandbox() as upstream:
        yield upstream


def play(pipe: Pipe, steps: list[Step], upstream: Any = None) -> list[bytes]:
    """Make the calls one after the other and return the replies as bytes."""
    answers = []
    for number, (prepare, name, arguments) in enumerate(steps):
        if upstream is not None and prepare is not None:
            prepare(upstream)
        pipe.send(rpc("tools/call", {"name": name, "arguments": arguments}, request_id=number))
        answers.append(pipe.line())
    return answers


def recorded(name: str, tape: Path, steps: list[Step], *flags: str) -> list[bytes]:
    """Record a run against a sandbox, which is stopped afterwards."""
    with upstream_of(name) as upstream:
        serve = oj_harness.serving_oj if name == "oj" else boj_harness.serving_boj
        settings = ("--token", TOKEN) if name == "oj" else ("--retry-backoff-ms", "1")
        with serve(upstream.url, *settings, "--record", str(tape), "--deterministic-ids", *flags) as pipe:
            answers = play(pipe, steps, upstream)
            assert pipe.finish()[0] == 0
    return answers


def journal_of(folder: Path) -> Path:
    return folder / FOLDER / LATEST


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal_of(folder).read_text().splitlines()]


def exchanges(tape: Path) -> dict[Path, dict[str, Any]]:
    """Return the exchanges of a recording by their files."""
    return {path: json.loads(path.read_text()) for path in sorted((tape / "exchanges").glob("?" * 64 + ".*.json"))}


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the judge, to be read only."""
    folder = tmp_path_factory.mktemp("recording") / "tape"
    recorded("oj", folder, OJ_RUN)
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_replayed_with_the_network_cut_off_byte_for_byte(name: str, tmp_path: Path) -> None:
    module, steps = RUNS[name]
    then = recorded(name, tmp_path / "tape", steps)

    flags = ("--replay", str(tmp_path / "tape"), "--log-dir", str(tmp_path / "again"), "--deterministic-ids")
    with piping(*command(module, *flags)) as pipe:
        now = play(pipe, steps)
        status, _, err = pipe.finish()

    assert status == 0
    assert b"FORBIDDEN" not in err
    assert now == then
    assert len(set(then)) == len(then)
    assert len(records(tmp_path / "tape")) == len(steps)
    volatile = [f"root[{number}]['{field}']" for number in range(len(steps)) for field in VOLATILE]
    assert differences(records(tmp_path / "tape"), records(tmp_path / "again"), exclude_paths=volatile) == {}
    ids = [[record["requestId"] for record in records(tmp_path / folder)] for folder in ("tape", "again")]
    assert ids[0] == ids[1]


def test_a_question_about_today_is_replayed_on_any_other_day(tmp_path: Path) -> None:
    steps: list[Step] = [
        (answering({**oj_harness.PROBLEM, "title": title}), "get_daily_challenge", {}) for title in ("One", "Two")
    ]
    then = recorded("oj", tmp_path / "tape", steps)

    moved = "import signet.recording as runs\nruns.utc_today = lambda: '2031-05-05'\n"
    program, *rest = command("signet.commands.oj_mcp", "--replay", str(tmp_path / "tape"))[2:]
    with piping(sys.executable, "-c", moved + program, *rest) as pipe:
        now = play(pipe, steps)

    assert now == then
    assert [b"One" in line for line in now] == [True, False]


@pytest.mark.parametrize("name", RUNS)
def test_without_the_recording_the_same_process_could_not_answer(name: str) -> None:
    module, steps = RUNS[name]
    with upstream_of(name) as upstream:
        flags = ("--base-url", upstream.url)
        with piping(*command(module, *flags, aiohttp_too=False), env=oj_harness.DIRECT) as pipe:
            (answer,) = play(pipe, steps[:1])
            _, _, err = pipe.finish()

        assert "error" in json.loads(answer)
        assert b"FORBIDDEN socket.connect" in err
        assert list(upstream.requests()) == []


@pytest.mark.parametrize("name", RUNS)
def test_the_command_runs_every_call_of_a_journal_again_and_finds_it_the_same(name: str, tmp_path: Path) -> None:
    recorded(name, tmp_path, RUNS[name][1])

    done = run_here("replay", str(journal_of(tmp_path)))
    legend, heading, *shown, summary = done.stdout.decode().splitlines()

    assert done.returncode == 0, done.stdout.decode()
    assert legend == "then: as recorded; now: the same call again, with the recorded responses of upstreams and servers"
    assert heading.split() == ["tool", "then", "now", "result"]
    assert summary == f"calls: {len(shown)}, same: {len(shown)}, different: 0"
    then = [(record["metadata"]["toolId"], record["status"], record["status"], "same") for record in records(tmp_path)]
    assert [tuple(line.split()) for line in shown] == then


def test_the_folder_of_a_recording_is_its_latest_run(tmp_path: Path) -> None:
    """As its journal is; an earlier run in the same folder is not played."""
    recorded("oj", tmp_path, OJ_RUN[:1])
    recorded("oj", tmp_path, OJ_RUN[:2])

    by_folder, by_journal = run("replay", str(tmp_path)), run_here("replay", str(journal_of(tmp_path)))

    assert by_folder.returncode == 0, by_folder.stderr
    assert by_folder.stdout == by_journal.stdout
    assert by_folder.stdout.decode().splitlines()[-1] == "calls: 2, same: 2, different: 0"


def test_a_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    done = run_here("replay", str(tmp_path))

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        f"signet: {tmp_path} holds no journal; write the folder that was given to --record, or a journal's file\n"
    )


def test_one_call_is_shown_by_its_id_with_the_answer_that_it_had(tmp_path: Path) -> None:
    """The third call asked what the first had asked, and was answered otherwise."""
    with oj_harness.oj_sandbox() as oj, oj_harness.serving_oj(oj.url, "--record", str(tmp_path)) as pipe:
        play(pipe, OJ_RUN[:3], oj)
        pipe.finish()
    third = records(tmp_path)[2]

    for field in ("requestId", "traceId"):
        done = run_here("replay", str(journal_of(tmp_path)), "--call", third[field])

        assert done.stdout.decode().splitlines()[1:] == [
            "tool            then   now    result",
            "oj.get_problem  ok     ok     same",
            "calls: 1, same: 1, different: 0",
        ]


def test_a_recording_edited_by_hand_shows_a_difference(tmp_path: Path) -> None:
    recorded("oj", tmp_path, OJ_RUN[:2])
    path = next(path for path, exchange in exchanges(tmp_path).items() if exchange["answer"]["status"] == 200)
    path.write_text(path.read_text().replace("Lantern Pairs", "Candle Pairs"))

    done = run_here("replay", str(journal_of(tmp_path)))
    shown = done.stdout.decode().splitlines()

    assert done.returncode == 1
    assert shown[2] == "oj.get_problem  ok     ok     differs"
    assert {'-  "markdown": "# Lantern Pairs', '+  "markdown": "# Candle Pairs'} <= set(shown)
    assert shown[-2:] == ["oj.get_problem  error  error  same", "calls: 2, same: 1, different: 1"]


@pytest.mark.parametrize("damage", ["", "{", "{}", '{"toolset": "oj", "target": "/", "answer": {"status": "x"}}'])
def test_an_exchange_that_cannot_be_read_is_told(tmp_path: Path, damage: str) -> None:
    recorded("oj", tmp_path, OJ_RUN[:1])
    (path,) = exchanges(tmp_path)
    path.write_text(damage)

    done = run_here("call", "get_problem", "--json", json.dumps(PROBLEM), "--replay", str(tmp_path))

    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["canonical_code"]) == ("NOT_RECORDED", "INTERNAL_ERROR")
    assert (path.name if damage else "/api/v1/problems/leetcode/9001") in error["message"]


def test_a_repeated_question_gets_its_answers_in_order_and_the_last_one_again(tmp_path: Path) -> None:
    titles = ["One", "Two"]
    steps = [(answering({**oj_harness.PROBLEM, "title": title}), "get_problem", PROBLEM) for title in titles]
    recorded("oj", tmp_path, list(steps))

    with piping(oj_harness.OJ, "--replay", str(tmp_path)) as pipe:
        heads = [oj_harness.call(pipe, "get_problem", **PROBLEM)[1].split("\n")[0] for _ in range(4)]

    assert heads == ["# One", "# Two", "# Two", "# Two"]


@pytest.mark.parametrize(("cache_s", "titles"), [("3600", 1), ("0", 2)])
def test_what_was_kept_or_asked_anew_is_so_when_it_is_replayed(tmp_path: Path, cache_s: str, titles: int) -> None:
    """The second answer of the Bank is another one; whether it was heard is a matter of the cache then, not now."""
    steps: list[Step] = [
        (None, boj_harness.METADATA, boj_harness.CALL_RATE),
        (lambda boj: boj.refuses("M181013E", times=1), boj_harness.METADATA, boj_harness.CALL_RATE),
    ]
    then = recorded("boj", tmp_path / "tape", steps, "--cache-s", cache_s)

    with piping(*command("signet.commands.boj_mcp", "--replay", str(tmp_path / "tape"), "--cache-s", "3600")) as pipe:
        now = play(pipe, steps)

    assert now == then
    assert len({line.partition(b'"id"')[2][3:] for line in now}) == titles


def sharing(folder: Path) -> Iterator[tuple[Path, float]]:
    """Yield folders for recordings, and for how long the upstream is to keep calls together in each.

    Calls of one process may be apart by as much as a busy machine likes: the next recording has more time for them.
    """
    for delay_s in (0.3, 1.5, 7.5):
        yield folder / str(delay_s), delay_s


def test_calls_that_shared_a_question_share_its_answer_again(tmp_path: Path) -> None:
    requests = [
        rpc("tools/call", {"name": boj_harness.METADATA, "arguments": boj_harness.CALL_RATE}, request_id=n)
        for n in range(3)
    ]
    for tape, delay_s in sharing(tmp_path):
        with boj_harness.boj_sandbox() as boj:
            boj.order("slow", delay_s=delay_s, times=1)
            with boj_harness.serving_boj(boj.url, "--record", str(tape), "--cache-s", "0") as pipe:
                pipe.send(*requests[:2])
                pipe.line(), pipe.line()
                boj.refuses("M181013E")
                pipe.ask(requests[2])
                assert pipe.finish()[0] == 0
            asked = len(boj.targets())
        if asked == 2:
            break
    assert asked == 2

    done = run_here("replay", str(journal_of(tape)))

    assert done.stdout.splitlines()[-1] == b"calls: 3, same: 3, different: 0"


def test_calls_that_shared_a_request_and_its_repetition_each_have_both_again(tmp_path: Path) -> None:
    requests = [
        rpc("tools/call", {"name": boj_harness.CODE, "arguments": boj_harness.SPOT}, request_id=n) for n in range(3)
    ]
    for tape, delay_s in sharing(tmp_path):
        with boj_harness.boj_sandbox() as boj:
            boj.refuses("M181091S", times=1)
            # Each call reads the refusal in a thread of its own: the repetition must last until the last has read it.
            boj.order("slow", delay_s=delay_s, times=1)
            flags = ("--record", str(tape), "--retry-max", "1", "--retry-backoff-ms", "1")
            with boj_harness.serving_boj(boj.url, *flags) as pipe:
                pipe.send(*requests)
                answers = [json.loads(pipe.line()) for _ in requests]
                assert pipe.finish()[0] == 0
            asked = len(boj.targets())
        assert ["result" in answer for answer in answers] == [True] * 3
        if asked == 2:
            break
    assert asked == 2

    done = run_here("replay", str(journal_of(tape)))

    assert done.stdout.splitlines()[-1] == b"calls: 3, same: 3, different: 0"


def test_a_run_is_held_against_its_own_calls_not_those_of_another_run_in_the_folder(tmp_path: Path) -> None:
    first = recorded("oj", tmp_path, [(None, "get_problem", PROBLEM)])
    second = recorded("oj", tmp_path, [(failing("status", status=400), "get_problem", PROBLEM)])

    done = run_here("replay", str(journal_of(tmp_path)))

    assert first != second
    assert done.stdout.decode().splitlines()[2:] == [
        "oj.get_problem  error  error  same",
        "calls: 1, same: 1, different: 0",
    ]


def test_a_tool_that_was_not_found_by_its_name_is_not_found_by_its_slug(tmp_path: Path) -> None:
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", "--record", str(tmp_path)) as pipe:
        pipe.ask(rpc("tools/call", {"name": "plantuml.encode", "arguments": {"plantumlCode": "A"}}))
        pipe.finish()

    done = run_here("replay", str(journal_of(tmp_path)))

    assert done.stdout.splitlines()[-1] == b"calls: 1, same: 1, different: 0"


def test_an_exchange_that_does_not_fit_on_the_disk_hides_no_other(tmp_path: Path) -> None:
    folder = ExchangeWriter(str(tmp_path), new_label(), lambda _: None)
    folder.keep("name", "first", b"one")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        folder.keep("name", "second", b"x" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    folder.keep("name", "third", b"two")

    read = ExchangeReader(read_recording(str(tmp_path)))
    assert [read.read(file) for _ in range(3) for file in read.next_call("name")] == [b"one", b"two", b"two"]


def test_what_was_not_recorded_is_told_with_its_target(tape: Path) -> None:
    done = run_here("call", "get_problem", "source=spoj", "id=A/B", "--replay", str(tape))

    error = json.loads(done.stdout)["error"]
    assert done.returncode == 1
    assert error == {
        "code": "NOT_RECORDED",
        "canonical_code": "INTERNAL_ERROR",
        "message": "not recorded: the recording has no answer to /api/v1/problems/spoj/A%2FB; record it with --record",
    }


def test_the_bank_names_the_target_too(tmp_path: Path) -> None:
    recorded("boj", tmp_path, BOJ_RUN[:1])

    with piping(boj_harness.BOJ, "--replay", str(tmp_path)) as pipe:
        error = boj_harness.failure(pipe, boj_harness.CODE, **boj_harness.SPOT)

    assert boj_harness.kind_of(error) == (-32603, "TRANSPORT_ERROR")
    assert boj_harness.SPOT_TARGET in error["message"]


@pytest.mark.parametrize("started_with", ["a token", "none"])
def test_whether_there_was_a_token_is_remembered(tmp_path: Path, started_with: str) -> None:
    flags = ("--token", TOKEN) if started_with == "a token" else ()
    with oj_harness.oj_sandbox(TOKEN) as oj, oj_harness.serving_oj(oj.url, *flags, "--record", str(tmp_path)) as pipe:
        then = oj_harness.call(pipe, "get_platform_status")
        pipe.finish()

    with piping(oj_harness.OJ, "--replay", str(tmp_path)) as pipe:
        now = oj_harness.call(pipe, "get_platform_status")

    assert now == then
    assert then[0] == ("answer" if started_with == "a token" else "told")


def test_no_secret_is_in_any_file_of_a_recording(tmp_path: Path) -> None:
    secrets = {"token": "upstream-1", "cookies": ["upstream-2"], "nested": {"Api-Key": {"x": "upstream-3"}}}
    echo = {**oj_harness.PROBLEM, "content": f"<p>{TOKEN}</p>", "access_token": "upstream-4", **secrets}
    broken = '{"password": "upstream-5", "authorization": "upstream-6'
    steps: list[Step] = [
        (answering(echo), "get_problem", PROBLEM),
        (failing("answer", body=broken), "get_problem", PROBLEM),
        (None, "resolve_problem", {"query": TOKEN}),
        (None, "get_problem", {"source": TOKEN, "id": "1", "api_key": "caller-1"}),
        (None, f"nobody token={TOKEN} password: caller-2", {"cookie": "caller-3"}),
    ]
    recorded("oj", tmp_path, steps)

    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = run_here("replay", str(journal_of(tmp_path)))

    assert len(exchanges(tmp_path)) == 4
    forms = [TOKEN, json.dumps(TOKEN)[1:-1], oj_harness.encoded(TOKEN), "upstream-", "caller-"]
    assert [(path, form) for path, data in written.items() for form in forms if form.encode() in data] == []
    assert again.returncode == 0, again.stdout.decode()


@pytest.mark.parametrize(
    ("target", "cleaned"),
    [
        ("/a?token=x&b=1", "/a?token=%5Bredacted%5D&b=1"),
        ("/a?b=1&API_KEY=x", "/a?b=1&API_KEY=%5Bredacted%5D"),
        ("/a?access_token=", "/a?access_token=%5Bredacted%5D"),
        ("/a/hunter-two?q=hunter-two", "/a/%5Bredacted%5D?q=%5Bredacted%5D"),
        ("/a?tokenizer=x&cookiecutter=y", "/a?tokenizer=x&cookiecutter=y"),
    ],
)
def test_a_target_is_cleaned_of_what_names_itself_a_secret(target: str, cleaned: str) -> None:
    redact = RecordingRedactor(("hunter-two", "short"))

    assert redact.target(target) == cleaned
    assert redact.target(cleaned) == cleaned


@pytest.mark.parametrize("body", [b'{ "a" : 1.10, "text": "the token: x" }', b"\xff\xfe", b"", b'["cookie", "token"]'])
def test_a_body_without_secrets_stays_as_it_is(body: bytes) -> None:
    assert RecordingRedactor(("hunter-two",)).body(body) == body


def test_a_folder_that_cannot_be_written_is_one_warning_and_no_failed_call(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")

    with oj_harness.oj_sandbox() as oj:
        flags = ("--oj-base-url", oj.url, "--record", str(in_the_way))
        with piping(SIGNET, "stdio", *flags, env=oj_harness.DIRECT) as pipe:
            replies = [oj_harness.call(pipe, "get_problem", **PROBLEM) for _ in range(5)]
            status, _, err = pipe.finish()

    assert {kind for kind, _ in replies} == {"answer"}
    assert status == 0
    assert err.count(b"unwritable") == 1
    assert b"Traceback" not in err


def test_concurrent_calls_of_several_workers_are_recorded_safely(tmp_path: Path) -> None:
    names = ["9001", "9002", "9003", "none-such"]
    with oj_harness.oj_sandbox() as oj:
        flags = ("--oj-base-url", oj.url, "--record", str(tmp_path), "--workers", "2")
        with serving(*flags, env=oj_harness.DIRECT) as server, ThreadPoolExecutor(16) as pool:
            bodies = [{"source": "leetcode", "id": name} for name in names * 20]
            replies = pool.map(lambda body: server.post("/api/tools/get_problem", body), bodies)
            assert {reply.status for reply in replies} == {200, 404}
        targets = oj.targets()

    journals = [path for path in journal_of(tmp_path).parent.iterdir() if not path.is_symlink()]
    ids = [json.loads(line)["requestId"] for path in journals for line in path.read_text().splitlines()]
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]

    assert len(ids) == 80
    assert sorted(call["requestId"] for call in calls) == sorted(ids)
    assert sorted(exchange["target"] for exchange in exchanges(tmp_path).values()) == sorted(targets)
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    for journal in journals:
        done = run_here("replay", str(journal))
        assert done.returncode == 0, done.stdout.decode()
    assert run_here("replay", str(tmp_path)).stdout.decode().splitlines()[-1] == "calls: 80, same: 80, different: 0"


def test_an_envelope_that_was_none_is_no_call_to_run_again(tmp_path: Path) -> None:
    with piping(SIGNET, "stdio", "--toolsets", "plantuml", "--record", str(tmp_path)) as pipe:
        pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "mcp.tool.invoke", "params": {}})
        pipe.finish()

    done = run_here("replay", str(journal_of(tmp_path)))

    assert done.returncode == 0
    assert b"nothing to run" in done.stdout


def test_calls_from_the_command_line_are_recorded_too_and_all_doors_are_replayed(tmp_path: Path) -> None:
    with oj_harness.oj_sandbox() as oj:
        flags = ("--oj-base-url", oj.url, "--record", str(tmp_path))
        then = run_here("call", "get_problem", "--json", json.dumps(PROBLEM), *flags, env=oj_harness.DIRECT)

    now = run_here("call", "get_problem", "--json", json.dumps(PROBLEM), "--replay", str(tmp_path))
    with serving("--replay", str(tmp_path)) as server:
        rest = server.post("/api/tools/get_problem", PROBLEM).json()

    assert now.stdout == then.stdout
    assert rest["result"] == json.loads(then.stdout)
    assert run_here("replay", str(journal_of(tmp_path))).returncode == 0


def test_a_run_is_not_recorded_and_replayed_at_once() -> None:
    for command_line in (["stdio"], ["call", "x"], ["serve"]):
        done = run_here(*command_line, "--record", "a", env={"SIGNET_REPLAY": "b"})

        assert (done.returncode, done.stdout) == (2, b"")
        assert b"either recorded or replayed" in done.stderr
    with pytest.raises(UsageError):
        Settings.read({}, {"record": "a", "replay": "b"})


def test_a_replay_that_cannot_be_made_says_why(tape: Path, tmp_path: Path) -> None:
    journal = journal_of(tape)
    broken, elsewhere, no_calls = tmp_path / "broken", tmp_path / "elsewhere.jsonl", tmp_path / "no_calls"
    broken.write_text(journal.read_text() + "{\n")
    elsewhere.write_text(journal.read_text())
    no_calls.mkdir()
    (no_calls / "recording.json").write_bytes((tape / "recording.json").read_bytes())
    cases = {
        ("replay", str(tmp_path / "none")): "No such file",
        ("replay", str(broken), "--recording", str(tape)): f"line {len(OJ_RUN) + 1}",
        ("replay", str(journal), "--call", "0-0-0"): "has no call 0-0-0",
        ("replay", str(elsewhere)): "write --recording DIR",
        ("replay", str(elsewhere), "--recording", str(no_calls)): "must have been made with --record",
        ("replay", str(elsewhere), "--recording", str(tmp_path / "none")): "there is no recording",
        ("stdio", "--replay", str(tmp_path / "none")): "there is no recording",
    }

    runs = {case: run_here(*case) for case in cases}

    assert {case: done.returncode for case, done in runs.items()} == dict.fromkeys(cases, 2)
    assert [case for case, words in cases.items() if words not in runs[case].stderr.decode()] == []
    assert [done.stderr for done in runs.values() if b"Traceback" in done.stderr] == []
