"""The `oj-mcp-rs` command: how it starts or refuses to, how it introduces itself, and what it never says."""

from __future__ import annotations

import json
import re
import uuid
from functools import partial
from typing import Any

import pytest

from door_calls import rpc, run_on_one_message
from oj_harness import OJ, PAGE, PROBLEM, SAMPLE, OjHarness, call, serving_oj
from processes import Pipe
from upstream_harness import hashed_bearer

ORIGIN = "https://judge.example"
SOURCE, ID = SAMPLE
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z +(ERROR|WARN|INFO|DEBUG|TRACE) (oj_mcp_rs[a-z_:]*): .+")
"""One line of the log."""

PARAMETERS: dict[str, dict[str, Any]] = {
    "slow": {"delay_s": 0},
    "redirect_to": {"location": "/elsewhere"},
    "huge": {"size": 2_097_152},
}
"""What some faults need, or would take too long without."""


run = partial(run_on_one_message, OJ)


def ended(pipe: Pipe) -> tuple[str, str]:
    """Close stdin and give the rest of stdout, and stderr."""
    status, out, err = pipe.finish()
    assert status == 0
    return out.decode(), err.decode()


# --- the command line


@pytest.mark.spec("1.S1.1.required", "1.S1.1.before-handshake", "1.S3.4.order")
@pytest.mark.parametrize("arguments", [[], ["--token", "x"], ["--base-url"]])
def test_without_a_base_url_nothing_is_served(arguments: list[str]) -> None:
    status, out, err = run(*arguments)

    assert status == 2
    assert out == ""
    assert "--base-url" in err.splitlines()[-1]


@pytest.mark.spec("1.S3.4.order", "1.S6.2.off", "1.S1.1.before-handshake", "1.S1.1.path")
@pytest.mark.parametrize("level", ["off", "trace"])
def test_a_refusal_is_told_before_any_logging_begins(level: str) -> None:
    status, out, err = run("--base-url", "https://example.com/api/v1", "--token", "x", env={"RUST_LOG": level})

    assert (status, out) == (1, "")
    assert re.fullmatch(r"error: [^\n]+\n", err)


@pytest.mark.spec(
    "1.S1.1.starts", "1.base-url.accept", "1.base-url.normalised", "1.base-url.no-slash", "1.base-url.any"
)
@pytest.mark.parametrize(
    ("base_url", "kept"),
    [
        ("https://example.com", "https://example.com"),
        ("https://example.com/", "https://example.com"),
        ("https://host:8080/", "https://host:8080"),
    ],
)
def test_an_origin_is_accepted_and_the_server_answers(base_url: str, kept: str) -> None:
    status, out, err = run("--base-url", base_url)

    assert status == 0
    assert json.loads(out)["result"]["serverInfo"]["name"] == "oj-mcp-rs"
    assert f"base url: {kept}\n" in err


@pytest.mark.spec("1.S1.flags")
@pytest.mark.parametrize("spelling", ["--TOKEN", "-token", "--token_", "--toke"])
def test_a_flag_in_another_spelling_is_none_and_what_follows_it_is_not_repeated(spelling: str) -> None:
    status, out, err = run("--base-url", ORIGIN, spelling, "secret123")

    assert (status, out) == (2, "")
    assert re.fullmatch(r"oj-mcp-rs: [^\n]+\n", err)
    assert "secret123" not in err


@pytest.mark.spec("1.S1.2.illegal")
@pytest.mark.parametrize("odd", ["\r\n", "é", "\x7f", "\x01"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_repeated(odd: str) -> None:
    half, other_half = uuid.uuid4().hex, uuid.uuid4().hex

    status, out, err = run("--base-url", ORIGIN, "--token", f"{half}{odd}{other_half}")

    assert (status, out) == (1, "")
    assert re.fullmatch(r"error: [^\n]*token[^\n]*\n", err)
    assert half not in err
    assert other_half not in err


@pytest.mark.spec("1.S1.2.illegal")
@pytest.mark.parametrize("odd", ["\n", "\x7f"])
def test_a_token_of_the_environment_that_no_header_can_carry_is_refused_too(odd: str) -> None:
    half, other_half = uuid.uuid4().hex, uuid.uuid4().hex

    status, out, err = run("--base-url", ORIGIN, env={"OJ_TOKEN": f"{half}{odd}{other_half}", "RUST_LOG": "trace"})

    assert (status, out) == (1, "")
    assert re.fullmatch(r"error: [^\n]*token[^\n]*\n", err)
    assert half not in err
    assert other_half not in err


@pytest.mark.spec("1.S1.2.blank", "1.S1.2.absent", "1.S6.3.presence")
@pytest.mark.parametrize("token", ["", "\t "])
@pytest.mark.parametrize("way", ["flag", "environment"])
def test_a_blank_token_counts_as_none(judge: OjHarness, way: str, token: str) -> None:
    flags, env = (["--token", token], {}) if way == "flag" else ([], {"OJ_TOKEN": token})
    with serving_oj(judge.url, *flags, env={"RUST_LOG": "info", **env}) as pipe:
        call(pipe, "get_problem", source=SOURCE, id=ID)
        refusal = call(pipe, "get_platform_status")
        _, err = ended(pipe)

    assert refusal[0] == "told"
    assert judge.bearers() == [None]
    assert "token: not configured\n" in err


@pytest.mark.spec("1.S1.2.optional", "1.S1.2.present")
@pytest.mark.parametrize(
    ("flags", "environ", "sent"),
    [
        ([], {"OJ_TOKEN": "from-the-environment"}, "from-the-environment"),
        (["--token", "from-the-flag"], {"OJ_TOKEN": "from-the-environment"}, "from-the-flag"),
        (["--token=from-the-flag"], {}, "from-the-flag"),
        (["--token", "with spaces\tand !~"], {}, "with spaces\tand !~"),
    ],
)
def test_a_token_comes_from_the_flag_or_the_environment(
    judge: OjHarness, flags: list[str], environ: dict[str, str], sent: str
) -> None:
    with serving_oj(judge.url, *flags, env=environ) as pipe:
        call(pipe, "get_problem", source=SOURCE, id=ID)

    [bearer] = judge.bearers()
    assert bearer is not None
    assert bearer.rpartition(":")[2] == hashed_bearer(sent.rpartition(" ")[2]).rpartition(":")[2]


# --- logging


def logged(judge: OjHarness, rust_log: str) -> list[tuple[str, str]]:
    """Make one call and give the level and the target of every line of the log."""
    with serving_oj(judge.url, env={"RUST_LOG": rust_log}) as pipe:
        call(pipe, "get_problem", source=SOURCE, id=ID)
        _, err = ended(pipe)
    lines = [LINE.fullmatch(line) for line in err.splitlines()]
    assert None not in lines, err
    return [(line[1], line[2]) for line in lines if line is not None]


@pytest.mark.spec("1.S6.2.default", "1.S6.2.format", "1.S6.1.stderr")
@pytest.mark.parametrize(
    "rust_log", ["", " ", " INFO ", "hyper=trace", "garbage!!", "oj_mcp_rs=bogus", "hyper=debug,x"]
)
def test_the_level_is_info_unless_told_otherwise(judge: OjHarness, rust_log: str) -> None:
    assert logged(judge, rust_log) == [("INFO", "oj_mcp_rs")] * 2


@pytest.mark.spec("1.S6.2.levels", "1.S6.2.format", "1.S6.1.stderr")
@pytest.mark.parametrize("rust_log", ["debug", "TRACE", "oj_mcp_rs=debug", "oj_mcp_rs"])
def test_a_lower_level_tells_more(judge: OjHarness, rust_log: str) -> None:
    lines = logged(judge, rust_log)

    assert lines[:2] == [("INFO", "oj_mcp_rs")] * 2
    assert {level for level, _ in lines[2:]} == {"DEBUG"}
    assert {target.partition("::")[0] for _, target in lines} == {"oj_mcp_rs"}


@pytest.mark.spec("1.S6.2.levels", "1.S6.2.off", "1.S6.2.targets")
@pytest.mark.parametrize(
    "rust_log", ["off", "Error", "warn", "oj_mcp_rs=off", "info,oj_mcp_rs=off", "trace,oj_mcp_rs=warn"]
)
def test_a_higher_level_tells_nothing_of_a_good_call(judge: OjHarness, rust_log: str) -> None:
    with serving_oj(judge.url, env={"RUST_LOG": rust_log}) as pipe:
        assert call(pipe, "get_problem", source=SOURCE, id=ID)[0] == "answer"
        out, err = ended(pipe)

    assert (out, err) == ("", "")


@pytest.mark.spec("1.S6.2.targets")
@pytest.mark.parametrize(
    "rust_log",
    [
        "warn,oj_mcp_rs::upstream=trace",
        "off, oj_mcp_rs::upstream = debug",
        "oj_mcp_rs::upstream=debug,oj_mcp_rs=warn",
    ],
)
def test_the_longest_target_that_fits_decides(judge: OjHarness, rust_log: str) -> None:
    lines = logged(judge, rust_log)

    assert lines
    assert set(lines) == {("DEBUG", "oj_mcp_rs::upstream")}


@pytest.mark.spec("1.S6.2.targets", "1.S6.2.default")
def test_beside_the_level_of_a_target_the_rest_stays_at_info(judge: OjHarness) -> None:
    lines = logged(judge, "oj_mcp_rs::upstream=debug")

    assert set(lines) == {("INFO", "oj_mcp_rs"), ("DEBUG", "oj_mcp_rs::upstream")}


@pytest.mark.spec("1.S6.2.off")
def test_off_leaves_stderr_empty_through_a_fault_too(judge: OjHarness) -> None:
    judge.order("close")
    with serving_oj(judge.url, env={"RUST_LOG": "off"}) as pipe:
        assert call(pipe, "get_problem", source=SOURCE, id=ID)[0] == "failed"
        _, err = ended(pipe)

    assert err == ""


@pytest.mark.spec("1.S6.3.presence", "1.S1.2.optional", "1.S1.2.blank")
@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--token", "x"], "token: configured"),
        (["--token", " "], "token: not configured"),
        ([], "token: not configured"),
    ],
)
def test_the_log_says_whether_there_is_a_token(flags: list[str], told: str) -> None:
    _, _, err = run("--base-url", ORIGIN, *flags)

    assert [line.partition("oj_mcp_rs: ")[2] for line in err.splitlines()] == [f"base url: {ORIGIN}", told]


# --- what is never said


@pytest.mark.spec("1.S1.token-not-logged", "1.S6.3.never", "1.S6.1.stdout", "1.S6.1.stderr")
def test_the_token_is_never_said_through_success_and_every_fault(judge: OjHarness) -> None:
    """Every tool, every fault that the sandbox knows, at the loudest level; not one occurrence anywhere."""
    token = str(uuid.uuid4())
    faults = [{"fault": name, **PARAMETERS.get(name, {})} for name in judge.faults()]
    calls = [
        ("get_problem", {"source": SOURCE, "id": ID}),
        ("find_similar_problems", {"query": "numbers"}),
        ("get_platform_status", {}),
    ]
    out, bearers = [], set()
    with serving_oj(judge.url, "--token", token, env={"RUST_LOG": "trace", "OJ_TIMEOUT_S": "0.2"}) as pipe:
        for order in [None, *faults]:
            judge.clear()
            if order is not None:
                judge.order(**order)
            out += [json.dumps(pipe.ask(rpc("tools/call", {"name": name, "arguments": a}))) for name, a in calls]
            bearers.update(judge.bearers())
        rest, err = ended(pipe)

    assert len(faults) > 20
    assert len(out) == 3 * (len(faults) + 1)
    assert bearers == {hashed_bearer(token)}
    assert rest == ""
    assert token not in "".join(out)
    assert token not in err
    assert "token: configured" in err


ECHOES: dict[str, dict[str, Any]] = {
    "a problem document": {"status": 401, "body": '{"title":"T","status":401,"detail":"got Bearer {}"}'},
    "a title": {"status": 400, "body": '{"title":"{}"}'},
    "a page": {"status": 502, "type": "text/html", "body": "<html>Authorization: Bearer {}</html>"},
    "a page under 200": {"status": 200, "type": "text/html", "body": "Authorization: Bearer {}"},
    "broken JSON": {"status": 200, "body": '{"id":"1","title":"{}"'},
    "JSON of another shape": {"status": 200, "body": '{"id":"1","ac_rate":"{}"}'},
    "a problem": {"status": 200, "body": '{"id":"1","title":"{}","content":"<p>{}</p>"}'},
    "where nothing was found": {"status": 200, "body": '{"source":"{}","id":"{}","problem":null}'},
    "202": {"status": 202, "body": '{"retry_after":"{}"}'},
    "a redirect": {"status": 302, "headers": {"location": "http://127.0.0.1:1/?{}"}},
    "a redirect to nowhere": {"status": 302, "headers": {"location": "http://{}:99999/"}},
    "headers": {"status": 500, "headers": {"x-authorization": "Bearer {}", "content-type": "{}"}, "type": None},
}


@pytest.mark.spec("1.S6.3.never", "1.S1.token-not-logged")
def test_an_upstream_that_sends_the_token_back_is_not_quoted(judge: OjHarness) -> None:
    token = str(uuid.uuid4())
    calls = [
        ("get_daily_challenge", {}),
        ("get_problem", {"source": SOURCE, "id": ID}),
        ("resolve_problem", {"query": "abc"}),
    ]
    said, bearers = {}, set()

    with serving_oj(judge.url, "--token", token, env={"RUST_LOG": "trace"}) as pipe:
        for row, answer in ECHOES.items():
            judge.clear()
            judge.order("answer", **json.loads(json.dumps(answer).replace("{}", token)))
            answers = [pipe.ask(rpc("tools/call", {"name": name, "arguments": a})) for name, a in calls]
            said[row] = json.dumps(answers)
            bearers.update(judge.bearers())
        rest, err = ended(pipe)

    assert bearers == {hashed_bearer(token)}
    assert [row for row, text in said.items() if token in text] == []
    assert token not in rest
    assert token not in err


@pytest.mark.spec("1.S6.3.never")
@pytest.mark.parametrize("odd", ['"', "\\", "<"])
def test_a_token_that_json_would_escape_is_not_quoted_either(judge: OjHarness, odd: str) -> None:
    head, tail = uuid.uuid4().hex, uuid.uuid4().hex
    judge.answers({"title": "Unauthorized", "status": 401, "detail": f"got Bearer {head}{odd}{tail}"}, status=401)

    with serving_oj(judge.url, "--token", f"{head}{odd}{tail}", env={"RUST_LOG": "trace"}) as pipe:
        answer = call(pipe, "get_problem", source=SOURCE, id=ID)
        _, err = ended(pipe)

    assert answer[0] == "told"
    assert f"{head}{odd}{tail}" not in answer[1]
    assert head not in err


@pytest.mark.spec("1.S6.3.never")
def test_a_caller_who_names_the_token_does_not_bring_it_into_the_log(judge: OjHarness) -> None:
    token = str(uuid.uuid4())

    with serving_oj(judge.url, "--token", token, env={"RUST_LOG": "trace"}) as pipe:
        for name, arguments in (
            ("resolve_problem", {"query": token}),
            ("get_problem", {"source": token, "id": token}),
            ("find_similar_problems", {"query": token}),
            ("get_daily_challenge", {"date": token}),
            (token, {}),
        ):
            pipe.ask(rpc("tools/call", {"name": name, "arguments": arguments}))
        _, err = ended(pipe)

    assert "token: configured" in err
    assert token not in err


@pytest.mark.spec("1.S4.3.as-is", "2.T2.title")
@pytest.mark.parametrize("token", ["e", "two", '"'])
def test_a_token_that_is_a_common_word_does_not_change_what_is_shown(judge: OjHarness, token: str) -> None:
    """Taking it out of every answer would spoil the answers, and tell it by the holes."""
    judge.answers(PROBLEM)

    with serving_oj(judge.url, "--token", token) as pipe:
        said = call(pipe, "get_problem", source=SOURCE, id=ID)

    assert said == ("answer", PAGE)
