"""The `boj-mcp-server` command: how it starts or refuses to, what it is told, how it introduces itself and ends."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from boj_harness import (
    BOJ,
    CALL_RATE,
    CALL_RATE_TARGET,
    CALLS,
    CODE,
    DATE,
    LAYER,
    METADATA,
    SPOT,
    SPOT_TARGET,
    TOOLS,
    BojHarness,
    boj_sandbox,
    call,
    failure,
    kind_of,
    published,
    request,
    result_of,
    serving_boj,
)
from door_calls import run_on_one_message
from processes import PATIENCE_S, Pipe, piping
from signet.commands import boj_mcp
from signet.settings.catalogue import find_toolset
from signet.settings.model import Settings
from upstream_harness import DIRECT, listening

SENTENCE = re.compile(r"(error|boj-mcp-server): [^\n]+\n")
TRANSPORT = (-32603, "TRANSPORT_ERROR")
CHECK = "check that the service is running, and BOJ_BASE_URL"


@pytest.fixture(scope="module")
def other() -> Iterator[BojHarness]:
    """Another address."""
    with boj_sandbox() as harness:
        yield harness


run = partial(run_on_one_message, BOJ)


def told(row: str, way: str, value: str) -> tuple[list[str], dict[str, str]]:
    """Flags and environment that set something in one of its ways."""
    variable = {"BOJ_" + row.upper().replace("-", "_"): value}
    return {
        "flag": ([f"--{row}", value], {}),
        "flag=value": ([f"--{row}={value}"], {}),
        "environment": ([], variable),
    }[way]


WAYS = ["flag", "flag=value", "environment"]


# --- what it is told


@pytest.mark.spec(
    "3.config.base-url", "3.config.timeout", "3.config.retry-max", "3.config.retry-backoff", "3.retry.default"
)
def test_the_defaults_are_the_specs() -> None:
    settings = Settings.read({}, {}).of(find_toolset("boj"))

    assert (settings.base_url, settings.timeout_ms, settings.retry_max, settings.retry_backoff_ms) == (
        "https://www.stat-search.boj.or.jp",
        10_000,
        2,
        200,
    )


@pytest.mark.spec("3.config.retry-max", "3.config.retry-backoff", "3.retry.default", "3.retry.count", "3.retry.backoff")
def test_told_nothing_it_asks_twice_more_after_200_and_400_milliseconds(bank: BojHarness) -> None:
    bank.order("close")

    with serving_boj(bank.url) as pipe:
        error = failure(pipe, CODE, **SPOT)

    first_s, second_s = bank.gaps_s()
    assert kind_of(error) == TRANSPORT
    assert bank.targets() == [SPOT_TARGET] * 3
    assert first_s >= 0.2
    assert second_s >= 0.4


@pytest.mark.spec("3.config.base-url")
def test_told_nothing_it_asks_the_public_host() -> None:
    """Seen by a proxy, which is asked for a way there and lets nobody through."""
    with listening(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n") as proxy:
        env = {"HTTPS_PROXY": proxy.url, "NO_PROXY": "", "no_proxy": "", "BOJ_RETRY_MAX": "0"}
        with piping(BOJ, env=env) as pipe:
            error = failure(pipe, METADATA, **CALL_RATE)

        assert proxy.received.startswith(b"CONNECT www.stat-search.boj.or.jp:443 HTTP/1.1\r\n")
    assert kind_of(error) == TRANSPORT


@pytest.mark.spec("3.config.base-url", "3.config.precedence")
@pytest.mark.parametrize("way", WAYS)
def test_the_base_url_is_set_in_each_way(bank: BojHarness, way: str) -> None:
    flags, env = told("base-url", way, bank.url)

    with piping(BOJ, *flags, env={"NO_PROXY": "127.0.0.1", **env}) as pipe:
        call(pipe, CODE, **SPOT)

    assert bank.targets() == [SPOT_TARGET]


@pytest.mark.spec("3.config.base-url")
@pytest.mark.parametrize("slashes", ["/", "///"])
def test_slashes_behind_the_base_url_make_no_difference(bank: BojHarness, slashes: str) -> None:
    with serving_boj(bank.url + slashes) as pipe:
        call(pipe, CODE, **SPOT)

    assert bank.targets() == [SPOT_TARGET]


@pytest.mark.spec("3.config.base-url")
def test_a_path_behind_the_base_url_stands_before_every_target(bank: BojHarness) -> None:
    with serving_boj(f"{bank.url}/mirror/", "--retry-max", "0") as pipe:
        failure(pipe, CODE, **SPOT)

    assert bank.targets() == [f"/mirror{SPOT_TARGET}"]


@pytest.mark.spec("3.config.timeout", "3.config.precedence")
@pytest.mark.parametrize("way", WAYS)
def test_the_time_of_one_attempt_is_set_in_each_way(bank: BojHarness, way: str) -> None:
    flags, env = told("timeout-ms", way, "120")
    bank.order("hang")

    with serving_boj(bank.url, "--retry-max", "0", *flags, env=env) as pipe:
        error = failure(pipe, CODE, **SPOT)

    sentence = f"request failed: no answer within 0.12 s from {bank.url}: {CHECK}"
    assert (kind_of(error), error["data"]["message"]) == (TRANSPORT, sentence)


@pytest.mark.spec("3.config.timeout")
def test_no_time_at_all_is_never_enough(bank: BojHarness) -> None:
    with serving_boj(bank.url, "--timeout-ms", "0", "--retry-backoff-ms", "0") as pipe:
        error = failure(pipe, CODE, **SPOT)

    assert kind_of(error) == TRANSPORT


@pytest.mark.spec("3.config.retry-max", "3.config.precedence", "3.retry.count")
@pytest.mark.parametrize("way", WAYS)
def test_how_often_to_ask_again_is_set_in_each_way(bank: BojHarness, way: str) -> None:
    flags, env = told("retry-max", way, "4")
    bank.order("close")

    with serving_boj(bank.url, "--retry-backoff-ms", "0", *flags, env=env) as pipe:
        error = failure(pipe, CODE, **SPOT)

    assert kind_of(error) == TRANSPORT
    assert bank.targets() == [SPOT_TARGET] * 5


@pytest.mark.spec("3.config.retry-backoff", "3.config.precedence", "3.retry.backoff")
@pytest.mark.parametrize("way", WAYS)
def test_the_first_wait_is_set_in_each_way(bank: BojHarness, way: str) -> None:
    flags, env = told("retry-backoff-ms", way, "350")
    bank.order("close", times=1)

    with serving_boj(bank.url, *flags, env=env) as pipe:
        call(pipe, CODE, **SPOT)

    [gap_s] = bank.gaps_s()
    assert gap_s >= 0.35


@pytest.mark.spec("3.polite.settable", "3.config.precedence")
@pytest.mark.parametrize("way", WAYS)
def test_how_long_lists_are_kept_is_set_in_each_way(bank: BojHarness, way: str) -> None:
    flags, env = told("cache-s", way, "0")

    with serving_boj(bank.url, *flags, env=env) as pipe:
        call(pipe, METADATA, **CALL_RATE)
        call(pipe, METADATA, **CALL_RATE)

    assert bank.targets() == [CALL_RATE_TARGET] * 2


@pytest.mark.spec("3.config.precedence")
def test_a_flag_wins_over_the_environment(bank: BojHarness, other: BojHarness) -> None:
    """Each value of the environment would show: another address, more attempts, a wait without end."""
    env = {
        "BOJ_BASE_URL": other.url,
        "BOJ_TIMEOUT_MS": "60000",
        "BOJ_RETRY_MAX": "9",
        "BOJ_RETRY_BACKOFF_MS": "3600000",
        "BOJ_MIN_INTERVAL_MS": "60000",
        "BOJ_CACHE_S": "3600",
    }
    flags = ("--timeout-ms=1500", "--retry-max=1", "--retry-backoff-ms=0", "--min-interval-ms=0", "--cache-s=0")
    bank.order("hang", times=2)

    with serving_boj(bank.url, *flags, env=env) as pipe:
        error = failure(pipe, METADATA, **CALL_RATE)
        call(pipe, METADATA, **CALL_RATE)
        call(pipe, METADATA, **CALL_RATE)

    assert error["data"]["message"] == f"request failed: no answer within 1.5 s from {bank.url}: {CHECK}"
    assert bank.targets() == [CALL_RATE_TARGET] * 4
    assert other.targets() == []


@pytest.mark.spec("3.config.precedence")
def test_the_largest_values_are_taken(bank: BojHarness) -> None:
    """As many bits as the specification's types have; a wait that long is for ever."""
    most = ("--timeout-ms", str(2**64 - 1), "--retry-max", str(2**32 - 1), "--retry-backoff-ms", str(2**64 - 1))

    with serving_boj(bank.url, *most) as pipe:
        answer = call(pipe, CODE, **SPOT)

    assert answer["meta"]["date"] == DATE


@pytest.mark.spec("3.config.precedence")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", ["007", "+5", "+05", "1"])
@pytest.mark.parametrize(
    "name",
    ["timeout-ms", "retry-max", "retry-backoff-ms", "min-interval-ms", "cache-s", "max-body-mb", "max-result-mb"],
)
def test_a_number_may_have_a_plus_and_leading_zeros_wherever_it_is_written(name: str, value: str, way: str) -> None:
    flags, env = told(name, way, value)

    status, out, err = run(*flags, env=env)

    assert (status, err) == (0, "")
    assert json.loads(out)["result"]["serverInfo"]["name"] == "boj-mcp-server"


@pytest.mark.spec("3.limits.read", "3.limits.answered")
@pytest.mark.parametrize(
    ("flags", "limits"), [((), (128, 128)), (("--max-body-mb=20",), (20, 128)), (("--max-result-mb=+3",), (128, 3))]
)
def test_its_own_limits_are_higher_than_those_of_signet(flags: tuple[str, ...], limits: tuple[int, int]) -> None:
    program = boj_mcp.parser()
    own = boj_mcp._settings(program, program.parse_args([*flags])).of(find_toolset("boj"))
    signet = Settings.read({}, {}).of(find_toolset("boj"))

    assert (own.max_body_mb, own.max_result_mb) == limits
    assert (signet.max_body_mb, signet.max_result_mb) == (None, None)


# --- what it will not be told

NUMBERS = ["timeout-ms", "retry-max", "retry-backoff-ms", "min-interval-ms", "cache-s", "max-body-mb", "max-result-mb"]
BAD = {"text": "soon", "empty": "", "negative": "-1", "more than 64 bits": "18446744073709551616"}
WORSE = {
    "blank": ("retry-max", " "),
    "fraction": ("retry-max", "1.5"),
    "exponent": ("retry-max", "1e3"),
    "hexadecimal": ("retry-max", "0x10"),
    "full-width": ("retry-max", "１０"),
    "unit": ("timeout-ms", "10s"),
    "more than 32 bits": ("retry-max", "4294967296"),
    "null": ("min-interval-ms", "null"),
    "negative zero": ("retry-max", "-0"),
    "two signs": ("retry-max", "++5"),
    "nothing at all": ("max-body-mb", "0"),
    "more than a minute": ("min-interval-ms", "60001"),
    "more than a day": ("cache-s", "86401"),
}


@pytest.mark.spec("3.config.precedence")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(pytest.param(name, value, id=f"{name}: {row}") for name in NUMBERS for row, value in BAD.items()),
        *(pytest.param(*given, id=f"{given[0]}: {row}") for row, given in WORSE.items()),
    ],
)
def test_what_is_no_such_number_is_refused_in_one_sentence_that_names_its_flag(name: str, value: str) -> None:
    status, out, err = run(f"--{name}={value}")

    assert (status, out) == (2, "")
    assert SENTENCE.fullmatch(err)
    assert f"--{name}" in err


@pytest.mark.spec("3.config.precedence")
@pytest.mark.parametrize("row", ["text", "negative"])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_such_number_is_refused_in_one_sentence_that_names_its_variable(name: str, row: str) -> None:
    _, env = told(name, "environment", BAD[row])

    status, out, err = run(env=env)

    assert (status, out) == (2, "")
    assert SENTENCE.fullmatch(err)
    assert all(variable in err for variable in env)


@pytest.mark.spec("3.config.credentials")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", ["http://user:hunter22@127.0.0.1:9", "https://hunter22@127.0.0.1"])
def test_a_base_url_with_a_user_is_refused_and_not_repeated(value: str, way: str) -> None:
    flags, env = told("base-url", way, value)

    status, out, err = run(*flags, env=env)

    assert (status, out) == (2, "")
    assert SENTENCE.fullmatch(err)
    assert "hunter22" not in err


@pytest.mark.spec("3.config.precedence", "3.config.base-url")
def test_a_base_url_of_the_environment_that_cannot_be_used_is_refused_in_one_sentence() -> None:
    status, out, err = run(env={"BOJ_BASE_URL": "not a url"})

    assert (status, out) == (2, "")
    assert SENTENCE.fullmatch(err)


@pytest.mark.spec("3.config.precedence")
def test_the_setting_of_signet_for_sample_data_keeps_it_from_asking_anybody() -> None:
    with piping(BOJ, env={**DIRECT, "SIGNET_SANDBOX": "true"}) as pipe:
        answer = call(pipe, METADATA, **CALL_RATE)

    assert answer["db"] == "FM01"


@pytest.mark.spec("3.config.precedence")
def test_an_address_on_the_command_line_goes_before_sample_data(bank: BojHarness) -> None:
    with serving_boj(bank.url, env={"SIGNET_SANDBOX": "true"}) as pipe:
        call(pipe, METADATA, **CALL_RATE)

    assert bank.targets() != []


def test_a_setting_of_signet_that_there_is_not_is_told_and_does_not_stop_the_start() -> None:
    """An orchestrator sets variables of any name."""
    status, _, err = run(env={"SIGNET_BOJ_RETRIES": "3"})

    assert status == 0
    assert err.count("SIGNET_BOJ_RETRIES is not a setting of Signet") == 1


@pytest.mark.spec("3.config.precedence")
def test_help_names_every_flag_with_its_variable_and_its_default_and_credits_the_bank() -> None:
    status, out, err = run("--help")

    options = [" ".join(text.split()) for text in out.partition("options:")[2].split("\n  -")[1:]]
    lines = {f"-{text.split()[0]}": text for text in options}
    assert (status, err) == (0, "")
    for flag, variable, default in (
        ("--base-url", "BOJ_BASE_URL", "https://www.stat-search.boj.or.jp"),
        ("--timeout-ms", "BOJ_TIMEOUT_MS", "10000"),
        ("--retry-max", "BOJ_RETRY_MAX", "2"),
        ("--retry-backoff-ms", "BOJ_RETRY_BACKOFF_MS", "200"),
        ("--min-interval-ms", "BOJ_MIN_INTERVAL_MS", "1000 for the public host, else 0"),
        ("--cache-s", "BOJ_CACHE_S", "3600"),
    ):
        assert lines[flag].endswith(f"({variable}, default: {default})"), lines[flag]
    words = " ".join(out.split())
    assert "uses the API of the Bank of Japan's Time-Series Data Search" in words
    assert "the Bank of Japan does not guarantee its content" in words


# --- who it is, and what it offers


COMMON = ["format", "lang", "start_date", "end_date", "start_position", "include_raw"]
ARGUMENTS = {
    CODE: ({"db", "codes", *COMMON}, {"db", "codes"}),
    LAYER: ({"db", "frequency", "layers", *COMMON}, {"db", "frequency", "layers"}),
    METADATA: ({"db", "format", "lang", "include_raw"}, {"db"}),
}
"""What each tool takes, and what it cannot do without."""
RESULTS = {
    CODE: {"meta", "parameter", "next_position", "series_count", "series"},
    LAYER: {"meta", "parameter", "next_position", "series_count", "series"},
    METADATA: {"meta", "db", "entries_count", "entries"},
}
"""What each result has always; `raw` comes only on request."""


@pytest.mark.spec("3.input.names", "3.input.frequency-only-layer", "3.input.include-raw-default", "3.compat.required")
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_publishes_what_it_takes(name: str) -> None:
    schema = published()[name]["inputSchema"]

    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert (set(schema["properties"]), set(schema["required"])) == ARGUMENTS[name]
    assert schema["properties"]["include_raw"]["default"] is False
    assert "additionalProperties" not in schema
    assert all(one["description"] for one in schema["properties"].values())
    Draft202012Validator(schema).validate(CALLS[name])


@pytest.mark.spec("3.output.structured", "3.output.raw")
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_publishes_what_it_gives(name: str) -> None:
    schema = published()[name]["outputSchema"]

    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert set(schema["required"]) == RESULTS[name]
    assert set(schema["properties"]) == RESULTS[name] | {"raw"}


@pytest.mark.spec("3.tools.identity")
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_says_what_it_is_and_that_it_only_reads(name: str) -> None:
    tool = published()[name]

    assert "Bank of Japan" in tool["title"]
    assert "Bank of Japan" in tool["description"]
    hints = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": True}
    assert tool["annotations"] == {"title": tool["title"], **hints}


# --- how it talks, and how it ends


@pytest.mark.spec("3.transport.stdio")
def test_told_nothing_about_logs_it_says_nothing_of_a_good_call(bank: BojHarness) -> None:
    with serving_boj(bank.url) as pipe:
        call(pipe, CODE, **SPOT)

        assert pipe.finish() == (0, b"", b"")


@pytest.mark.spec("3.transport.stdio", "3.goal")
def test_the_end_of_input_is_answered_to_the_last_call_its_retries_included(bank: BojHarness) -> None:
    bank.order("slow", delay_s=0.3, match="getDataCode")
    bank.order("close", match="getDataLayer", times=2)

    with serving_boj(bank.url, "--retry-backoff-ms", "50") as pipe:
        pipe.send(*(request(name, arguments, name) for name, arguments in CALLS.items()))
        status, out, _ = pipe.finish()

    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    assert status == 0
    assert set(answers) == set(TOOLS)
    assert [result_of(answers[name], name)["meta"]["status"] for name in TOOLS] == [200] * 3
    assert len([target for target in bank.targets() if "getDataLayer" in target]) == 3


@pytest.mark.spec("3.transport.stdio")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("trouble", ["a request", "a wait"])
def test_a_signal_ends_the_process_well_in_the_middle_of(
    bank: BojHarness, number: signal.Signals, trouble: str
) -> None:
    bank.order("hang" if trouble == "a request" else "close")

    with serving_boj(bank.url, "--retry-backoff-ms", "3600000") as pipe:
        pipe.send(request(CODE, SPOT))
        bank.once(lambda seen: len(seen) == 1 and (trouble == "a request" or seen[0].end == "answered"))
        pipe.process.send_signal(number)

        assert pipe.process.wait(PATIENCE_S) == 0
        assert pipe.stdout.read() == b""
    [seen] = bank.settled()
    assert seen.target == SPOT_TARGET


def drained(pipe: Pipe) -> Any:
    """Read the answers that are left until there are none."""
    _, out, _ = pipe.finish()
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.spec("3.runtime.concurrent")
def test_calls_wait_side_by_side_and_answers_come_as_they_are_ready(bank: BojHarness) -> None:
    """The first answer is held back until the others have come."""
    bank.order("hang", match="getDataCode")

    with serving_boj(bank.url, "--timeout-ms", "4000", "--retry-max", "0") as pipe:
        pipe.send(*(request(name, arguments, name) for name, arguments in CALLS.items()))
        answers = drained(pipe)

    assert [answer["id"] for answer in answers][-1] == CODE
    assert sorted(answer["id"] for answer in answers) == TOOLS
