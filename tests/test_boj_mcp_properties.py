"""`boj-mcp-server` beside any answer that a Bank may give: what is generated, and what its rules make of it.

A stand-in for the Bank answers every request with the same bytes and counts the requests. What a call must come to is
worked out here from the rules of spec 3 and of the Bank's manual, not by the code that is tested.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from boj_harness import BOJ, CALLS, CODE, LAYER, METADATA, TOOLS, error_of, request, result_of, serving_boj
from door_calls import run_on_one_message
from processes import Pipe

VALIDATION, REFUSED = (-32602, "VALIDATION_ERROR"), (-32602, "API_ERROR")
TRANSPORT, DECODE, FAILED = (-32603, "TRANSPORT_ERROR"), (-32603, "DECODE_ERROR"), (-32603, "API_ERROR")
ATTEMPTS = 3
"""The first request and the two retries that the server has by default."""

many = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
few = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
unshrunk = settings(few, phases=[Phase.explicit, Phase.generate])
"""For a test that fails after a minute."""


@dataclass
class StandIn:
    """A Bank that gives one answer to every request."""

    port: int
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    requests: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answers(self, body: bytes, kind: str | None = None, status: int = 200, **headers: str) -> None:
        """Answer all requests to come with these bytes."""
        self.requests = 0
        self.status, self.body = status, body
        self.headers = {**({} if kind is None else {"content-type": kind}), **headers}


@contextmanager
def standing_in() -> Iterator[StandIn]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            bank.requests += 1
            self.send_response(bank.status)
            for name, value in {**bank.headers, "content-length": str(len(bank.body))}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(bank.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bank = StandIn(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield bank
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def bank() -> Iterator[StandIn]:
    with standing_in() as stand_in:
        yield stand_in


@pytest.fixture(scope="module")
def pipe(bank: StandIn) -> Iterator[Pipe]:
    with serving_boj(bank.url, "--retry-backoff-ms", "0", "--cache-s", "0") as running:
        yield running


def outcome(pipe: Pipe, name: str, **arguments: Any) -> Any:
    """Return the result of a call, or the code and the type of its error."""
    answer = pipe.ask(request(name, {**CALLS[name], **arguments}))
    if "error" not in answer:
        return result_of(answer, name)
    error = error_of(answer)
    return error["code"], error["data"]["error_type"]


# --- answers that can be read


TEXT = "ab C09%/.,\"'-（日銀）円短観－～①"
texts = st.text(alphabet=TEXT, min_size=1, max_size=8).filter(lambda text: text.strip() == text)
blanks = st.sampled_from(["", " ", "\u3000"])
extras = st.dictionaries(st.sampled_from(["NEW", "Other", "X1"]), st.text(alphabet=TEXT + " ", max_size=6), max_size=2)


@dataclass(frozen=True)
class Row:
    """A series, or a row of a list."""

    code: str
    texts: dict[str, str]
    """Attributes that the manual names."""
    extras: dict[str, str]
    points: list[tuple[int, str | None]]


EMPTY = Row("", {}, {}, [])
rows = st.builds(
    Row,
    st.from_regex(r"[A-Z0-9@_]{1,12}", fullmatch=True),
    st.dictionaries(st.sampled_from(["NAME_OF_TIME_SERIES_J", "UNIT_J", "CATEGORY_J", "UNIT"]), texts | blanks),
    extras,
    st.lists(st.tuples(st.integers(190001, 205012), st.none() | st.decimals(-999, 999, places=2).map(str)), max_size=4),
)
tables = st.lists(rows, max_size=4, unique_by=lambda row: row.code)


def as_json(name: str, table: list[Row], head: dict[str, Any]) -> bytes:
    found = []
    for row in table:
        one: dict[str, Any] = {"SERIES_CODE": row.code, **row.texts, **row.extras}
        if name != METADATA:
            values = [None if value is None else float(value) for _, value in row.points]
            one["VALUES"] = {"SURVEY_DATES": [date for date, _ in row.points], "VALUES": values}
        found.append(one)
    return json.dumps({**head, "RESULTSET": found}, ensure_ascii=False).encode()


def as_csv(name: str, table: list[Row], head: dict[str, Any], end: str) -> str:
    """Return a table with one line for each observation; cells are quoted where they must be."""

    def line(cells: list[str]) -> str:
        return ",".join('"' + cell.replace('"', '""') + '"' if set(cell) & set(',"') else cell for cell in cells) + end

    columns = sorted({column for row in table for column in (*row.texts, *row.extras)})
    tail = [] if name == METADATA else ["SURVEY_DATES", "VALUES"]
    lines = [line([key, str(value)]) for key, value in head.items()] + [line(["SERIES_CODE", *columns, *tail])]
    for row in table:
        cells = {**row.texts, **row.extras}
        start = [row.code, *(cells.get(column, "") for column in columns)]
        if name == METADATA:
            lines.append(line(start))
        else:
            lines += [line([*start, str(date), "null" if value is None else value]) for date, value in row.points]
    return "".join(lines)


def known(row: Row) -> dict[str, str | None]:
    """The attributes that the manual names: trimmed, and null where they are blank."""
    names = ("NAME_OF_TIME_SERIES_J", "NAME_OF_TIME_SERIES", "UNIT_J", "UNIT", "FREQUENCY", "CATEGORY_J", "CATEGORY")
    return {name.lower(): row.texts.get(name, "").strip("\u3000 ") or None for name in names}


def listed(result: Any) -> list[dict[str, Any]]:
    return list(result["entries"] if "entries" in result else result["series"])


HEAD = {"STATUS": 200, "MESSAGEID": "M181000I", "MESSAGE": "OK", "DB": "FM08"}
JSON_TYPES = ["application/json", "text/html", "text/csv", "", None]


@pytest.mark.spec("3.output.formats", "3.output.tolerant", "3.output.values", "3.output.structured")
@many
@given(st.sampled_from(TOOLS), tables, st.sampled_from(JSON_TYPES), st.sampled_from([200, 404, 500]), st.data())
def test_json_is_read_whatever_its_type_and_status_are(
    bank: StandIn, pipe: Pipe, name: str, table: list[Row], kind: str | None, status: int, data: st.DataObject
) -> None:
    body = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf", b" \r\n"])) + as_json(name, table, HEAD)
    packed, headers = data.draw(st.sampled_from([(body, {}), *[(gzip.compress(body) + tail, GZIP) for tail in TAILS]]))
    bank.answers(packed, kind, status, **headers)

    seen = listed(outcome(pipe, name))

    assert bank.requests == 1
    assert [row["series_code"] for row in seen] == [row.code for row in table]
    for row, one in zip(table, seen, strict=True):
        assert {key: one[key] for key in known(row)} == known(row)
        assert one["extras"] == row.extras, "they are passed on as they are"
        if name != METADATA:
            values = [None if value is None else json.dumps(float(value)) for _, value in row.points]
            dates = [str(date) for date, _ in row.points]
            assert [(point["survey_date"], point["value"]) for point in one["points"]] == list(
                zip(dates, values, strict=True)
            )


GZIP = {"content_encoding": "gzip"}
TAILS = [b"", b"\0\0", b"rest", b"\r\n"]
CSV_TYPES = ["text/csv", "text/csv; charset=Shift_JIS", "text/csv; charset=utf-8", "text/html", "text/plain", None]


@pytest.mark.spec("3.output.formats", "3.output.raw", "3.output.tolerant")
@many
@given(st.sampled_from(TOOLS), tables, st.sampled_from(CSV_TYPES), st.sampled_from(["\n", "\r\n", "\r"]), st.data())
def test_a_table_is_read_whatever_its_type_charset_and_lines_are(
    bank: StandIn, pipe: Pipe, name: str, table: list[Row], kind: str | None, end: str, data: st.DataObject
) -> None:
    """Its charset is the declared one, or else that of the language."""
    lang = data.draw(st.sampled_from(["jp", "en"]))
    text = as_csv(name, table, HEAD, end)
    charset = "utf-8" if lang == "en" else "cp932"
    if kind is not None and "utf-8" in kind and lang == "jp":
        charset = data.draw(st.sampled_from(["utf-8", "cp932"]))
    if kind is not None and "Shift_JIS" in kind:
        charset = "cp932"
    bank.answers(text.encode(charset), kind)

    result = outcome(pipe, name, format="csv", lang=lang, include_raw=True)

    assert bank.requests == 1
    assert result["raw"] == text
    if name == METADATA:
        expected = [(row.code, known(row)) for row in table]
    else:
        # A series without observations has no line.
        expected = [(row.code, known(row)) for row in table if row.points]
    seen = listed(result)
    assert [
        (one["series_code"], {key: one[key] for key in row}) for one, (_, row) in zip(seen, expected, strict=True)
    ] == (expected)


@pytest.mark.spec("3.output.tolerant", "3.output.formats")
@many
@given(
    st.sampled_from([CODE, LAYER]),
    st.dictionaries(
        st.sampled_from(["NEW", "Other", "X1"]), st.text(alphabet=TEXT + " ", min_size=1, max_size=6), max_size=2
    ),
    st.lists(st.text(alphabet=TEXT, min_size=1, max_size=6).filter(lambda text: "," not in text), max_size=2),
    st.booleans(),
)
@example(CODE, {"NEW": " a "}, [], False)
@example(LAYER, {"NEW": " a "}, ["b"], True)
def test_parameters_of_any_name_are_passed_on_and_those_without_a_name_are_dropped(
    bank: StandIn, pipe: Pipe, name: str, echoed: dict[str, str], nameless: list[str], is_csv: bool
) -> None:
    if is_csv:
        lines = [f"{key},{value}" for key, value in HEAD.items()]
        lines += [f'PARAMETER,{key},"{value.replace(chr(34), chr(34) * 2)}"' for key, value in echoed.items()]
        lines += [f'PARAMETER,,"{value.replace(chr(34), chr(34) * 2)}"' for value in nameless]
        bank.answers("\n".join([*lines, "SERIES_CODE,SURVEY_DATES,VALUES", ""]).encode(), "text/csv")
    else:
        bank.answers(json.dumps({**HEAD, "PARAMETER": echoed, "RESULTSET": []}).encode(), "application/json")

    extras = outcome(pipe, name, lang="en")["parameter"]["extras"]

    # The cells of a table are trimmed, the texts of JSON are passed on as they are.
    expected = {key.upper(): value.strip("\u3000 ") if is_csv else value for key, value in echoed.items()}
    assert extras == {key: value for key, value in expected.items() if value}


@pytest.mark.spec("3.output.tolerant", "3.output.raw")
@few
@given(st.sampled_from(TOOLS), st.integers(1, 3_000), st.integers(1, 400_000), st.sampled_from(["\n", "\r\n", "\r"]))
@example(METADATA, 101, 131_073, "\r")
@example(CODE, 101, 131_073, "\r")
def test_a_table_may_have_many_columns_and_long_cells(
    bank: StandIn, pipe: Pipe, name: str, columns: int, length: int, end: str
) -> None:
    names = [f"X{number}" for number in range(columns)]
    cells = ["y" * length, *(str(number) for number in range(1, columns))]
    row = Row("A", {}, dict(zip(names, cells, strict=True)), [(202401, "1.5")])
    bank.answers(as_csv(name, [row], HEAD, end).encode(), "text/csv")

    [one] = listed(outcome(pipe, name, format="csv", lang="en"))

    same = one["extras"] == row.extras
    assert same


@pytest.mark.spec("3.limits.whole", "3.output.metadata")
@few
@given(st.sampled_from([0, 1, 255, 256, 257, 2_000]), st.booleans(), st.text(alphabet=TEXT, max_size=300))
@example(14_000, True, "円")
@example(30_000, False, "x" * 300)
def test_a_list_of_any_length_is_whole(bank: StandIn, pipe: Pipe, count: int, is_csv: bool, note: str) -> None:
    note = note.strip()
    table = [Row(f"S{number}", {"UNIT_J": note} if note else {}, {}, []) for number in range(count)]
    body = as_csv(METADATA, table, HEAD, "\n").encode("cp932") if is_csv else as_json(METADATA, table, HEAD)
    bank.answers(body, "text/csv" if is_csv else "application/json")

    answer = pipe.ask(request(METADATA, {"db": "FM08"}))["result"]

    listing = answer["structuredContent"]
    assert listing["entries_count"] == len(listing["entries"]) == count
    assert [entry["series_code"] for entry in listing["entries"]] == [row.code for row in table]
    assert {entry["unit_j"] for entry in listing["entries"]} <= {note or None}
    same = json.loads(answer["content"][0]["text"]) == listing
    assert same


@pytest.mark.spec("3.output.tolerant")
@many
@given(
    st.sampled_from(TOOLS),
    st.recursive(st.just([]), lambda inner: st.lists(inner) | st.builds(dict, a=inner)),
    st.data(),
)
def test_a_text_that_is_nested_counts_as_absent(
    bank: StandIn, pipe: Pipe, name: str, nested: Any, data: st.DataObject
) -> None:
    places = data.draw(st.sets(st.sampled_from(["MESSAGE", "DATE", "UNIT", "NEW", "DB"]), min_size=1))
    row: dict[str, Any] = {"SERIES_CODE": "A", "UNIT": "%", "NEW": "x"}
    row |= {place: nested for place in places if place in row}
    if name != METADATA:
        row["VALUES"] = {"SURVEY_DATES": [202401], "VALUES": [1]}
    head: dict[str, Any] = {**HEAD, "DATE": "2026"} | dict.fromkeys(places & {"MESSAGE", "DATE", "DB"}, nested)
    bank.answers(json.dumps({**head, "RESULTSET": [row]}).encode(), "application/json")

    result = outcome(pipe, name)

    [one] = listed(result)
    assert result["meta"]["message"] == ("" if "MESSAGE" in places else "OK")
    assert result["meta"]["date"] == (None if "DATE" in places else "2026")
    assert one["unit"] == (None if "UNIT" in places else "%")
    assert one["extras"].get("NEW") == (None if "NEW" in places else "x")


# --- answers that cannot be read, and those that are refusals


@pytest.mark.spec("3.errors.decode", "3.errors.transport", "3.retry.only")
@many
@given(
    st.sampled_from(TOOLS),
    st.sampled_from([200, 201, 400, 401, 403, 404, 407, 429, 499, 500, 501, 502, 503, 504, 599]),
    st.sampled_from(
        [b"<", b" \r\n<!DOCTYPE html><title>sign in</title>", b"\xef\xbb\xbf<html>", b"<?xml version='1.0'?>"]
    ),
    st.sampled_from(["text/html", "application/json", "text/csv", None]),
)
def test_a_page_is_asked_for_again_from_500_on_only(
    bank: StandIn, pipe: Pipe, name: str, status: int, body: bytes, kind: str | None
) -> None:
    bank.answers(body, kind, status)

    seen = outcome(pipe, name)

    assert (seen, bank.requests) == ((TRANSPORT, ATTEMPTS) if status >= 500 else (DECODE, 1))


@pytest.mark.spec("3.errors.transport", "3.retry.only", "3.retry.count")
@many
@given(st.sampled_from(TOOLS), tables, st.data())
def test_gzip_that_was_damaged_on_its_way_is_asked_for_again(
    bank: StandIn, pipe: Pipe, name: str, table: list[Row], data: st.DataObject
) -> None:
    packed = gzip.compress(as_json(name, table, HEAD), mtime=0)
    if data.draw(st.booleans()):
        body = packed[: data.draw(st.integers(2, len(packed) - 1))]
    else:
        place = data.draw(st.integers(1, 8))
        body = packed[:-place] + bytes([packed[-place] ^ 0xFF]) + packed[len(packed) - place + 1 :]
    bank.answers(body, "application/json", **GZIP)

    seen = outcome(pipe, name)

    assert (seen, bank.requests) == (TRANSPORT, ATTEMPTS)


@pytest.mark.spec("3.retry.backoff", "3.polite.spaced")
@unshrunk
@given(
    st.sampled_from(TOOLS),
    st.sampled_from([(b"<", 500, TRANSPORT), (b'{"STATUS":500}', 200, FAILED), (b'{"STATUS":503}', 503, FAILED)]),
    st.integers(1, 5),
)
def test_retries_do_not_wait_for_the_pace_of_calls(
    bank: StandIn, name: str, trouble: tuple[bytes, int, tuple[int, str]], retries: int
) -> None:
    """At this pace the second attempt would come after a minute, when the test has failed."""
    body, status, kind = trouble
    flags = ["--min-interval-ms", "60000", "--retry-backoff-ms", "1", "--retry-max", str(retries)]

    bank.answers(body, None, status)

    # All processes of a user keep one pace, by a file in this folder.
    with TemporaryDirectory() as folder, serving_boj(bank.url, *flags, env={"XDG_CACHE_HOME": folder}) as paced:
        seen = outcome(paced, name)

    assert (seen, bank.requests) == (kind, 1 + retries)


@pytest.mark.spec("3.polite.kept", "3.polite.not-kept")
@few
@given(st.lists(st.sampled_from([*TOOLS, METADATA]), min_size=2, max_size=6), tables, st.booleans())
def test_lists_are_kept_and_data_are_asked_for_each_time(
    bank: StandIn, names: list[str], table: list[Row], is_kept: bool
) -> None:
    flags = [] if is_kept else ["--cache-s", "0"]
    expected, kept = 0, False
    bank.requests = 0
    with serving_boj(bank.url, *flags) as polite:
        for name in names:
            bank.body, bank.status, bank.headers = as_json(name, table, HEAD), 200, {}
            seen = [row["series_code"] for row in listed(outcome(polite, name))]

            expected += not (kept and name == METADATA)
            kept |= is_kept and name == METADATA
            assert (seen, bank.requests) == ([row.code for row in table], expected)


@pytest.mark.spec("3.errors.decode", "3.output.formats")
@many
@given(
    st.sampled_from(TOOLS), tables.filter(bool), st.sampled_from([b"\xa0", b"\xfd", b"\xfe", b"\xff"]), st.booleans()
)
def test_bytes_that_stand_for_no_character_are_not_turned_into_one(
    bank: StandIn, pipe: Pipe, name: str, table: list[Row], byte: bytes, raw: bool
) -> None:
    body = as_csv(name, table, {**HEAD, "REMARK": "@@"}, "\n").encode("cp932").replace(b"@@", byte)
    bank.answers(body, "text/csv")

    seen = outcome(pipe, name, format="csv", lang="jp", include_raw=raw)

    assert (seen, bank.requests) == (DECODE, 1)


@pytest.mark.spec("3.errors.api-400", "3.errors.api-other", "3.retry.only")
@many
@given(st.sampled_from(TOOLS), st.integers(201, 599), st.sampled_from([200, 400, 500, 503]), st.booleans())
def test_the_status_in_the_body_decides(
    bank: StandIn, pipe: Pipe, name: str, status: int, http: int, nested: bool
) -> None:
    message: Any = ["x"] if nested else "no"
    bank.answers(json.dumps({"STATUS": status, "MESSAGEID": "M181005E", "MESSAGE": message}).encode(), None, http)

    seen = outcome(pipe, name)

    assert seen == (REFUSED if status == 400 else FAILED)
    assert bank.requests == (ATTEMPTS if status in {500, 503} else 1)


# --- calls


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=99),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.spec("3.input.frequency-only-layer")
@many
@given(st.sampled_from([CODE, METADATA]), anything)
def test_a_frequency_is_ignored_where_none_is_needed(bank: StandIn, pipe: Pipe, name: str, frequency: Any) -> None:
    bank.answers(as_json(name, [], HEAD), "application/json")

    result = outcome(pipe, name, frequency=frequency)

    assert (listed(result), bank.requests) == ([], 1)


@pytest.mark.spec("3.input.control", "3.errors.validation")
@many
@given(st.sampled_from(TOOLS), st.sampled_from([*range(32), 127]), st.integers(0, 3), st.booleans())
def test_a_control_character_is_refused_before_anything_is_sent(
    bank: StandIn, pipe: Pipe, name: str, number: int, place: int, in_codes: bool
) -> None:
    bank.answers(as_json(name, [], HEAD), "application/json")
    text = "FM08"[:place] + chr(number) + "FM08"[place:]
    argument: dict[str, Any] = {"codes": [text]} if in_codes and name == CODE else {"db": text}

    seen = outcome(pipe, name, **argument)

    assert (seen, bank.requests) == (VALIDATION, 0)


@pytest.mark.spec("3.input.control", "3.errors.validation")
@many
@given(st.sampled_from(TOOLS), st.integers(60, 90), st.booleans())
def test_a_text_has_at_most_64_characters(bank: StandIn, pipe: Pipe, name: str, length: int, in_codes: bool) -> None:
    bank.answers(as_json(name, [], HEAD), "application/json")
    argument: dict[str, Any] = {"codes": ["A" * length]} if in_codes and name == CODE else {"db": "A" * length}

    seen = outcome(pipe, name, **argument)

    if length <= 64:
        assert (listed(seen), bank.requests) == ([], 1)
    else:
        assert (seen, bank.requests) == (VALIDATION, 0)


NUMBERS = ["timeout-ms", "retry-max", "retry-backoff-ms", "min-interval-ms", "cache-s", "max-body-mb", "max-result-mb"]


@pytest.mark.spec("3.config.precedence")
@many
@given(
    st.sampled_from(NUMBERS),
    st.sampled_from(["", "", "+", "-", "++", " "]),
    st.integers(0, 3),
    st.sampled_from(["1", "7", "99", "1000000000000000000000", "x", "1.0", "1e1"]),
    st.booleans(),
)
def test_one_rule_holds_for_all_numbers(name: str, sign: str, zeros: int, digits: str, by_flag: bool) -> None:
    """A plus and leading zeros are allowed everywhere, and nothing else beside digits is."""
    text = sign + "0" * zeros + digits
    is_number = sign in {"", "+"} and digits in {"1", "7", "99"}
    flags, env = ([f"--{name}={text}"], {}) if by_flag else ([], {"BOJ_" + name.upper().replace("-", "_"): text})

    status, _, err = run_on_one_message(BOJ, *flags, env=env)

    assert (status, err == "") == ((0, True) if is_number else (2, False)), text


LOGIN = st.text(alphabet="abcXYZ019-._~%", max_size=6)


@pytest.mark.spec("3.config.credentials")
@many
@given(st.sampled_from(["http", "https"]), LOGIN, st.none() | LOGIN, st.booleans())
def test_an_address_with_a_login_is_refused_at_the_start(
    bank: StandIn, scheme: str, user: str, password: str | None, by_flag: bool
) -> None:
    login = user if password is None else f"{user}:{password}"
    address = f"{scheme}://{login}@127.0.0.1:{bank.port}"
    flags, env = (["--base-url", address], {}) if by_flag else ([], {"BOJ_BASE_URL": address})

    status, out, err = run_on_one_message(BOJ, *flags, env=env)

    assert (status, out) == (2, "")
    assert err
    assert not login or f"{login}@" not in err, "it may be a password"
