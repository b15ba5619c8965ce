"""What `signet boj` says of a fault: in the words that can be written at a terminal, not in those of the tools."""

from __future__ import annotations

import re

import pytest

from processes import run
from signet.commands.boj.series_query import FLAGS, to_flags
from signet.kernel.errors import Code, Fault
from signet.toolsets.boj import validation
from signet.toolsets.boj.decode import LESS_DATA
from signet.toolsets.boj.faults import (
    TOOL_NAMES,
    BankMessage,
    bank_messages,
    refused,
    too_large,
    transport,
    undecodable,
)

DATES = (
    "YYYY for years, YYYY01 or YYYY02 for halves, YYYY01 to YYYY04 for quarters, "
    "and YYYYMM for months, weeks and days alike"
)
FREQUENCY = "Give --frequency as one of CY, FY, CH, FH, Q, M, W or D; weekly series are W whatever their weekday."
LAYERS = "Give --layers as one to five levels, each a positive number or \"*\", for example '1,*,2'."
HERE = {
    "M181030I": "Ask for another span: `signet call boj_get_metadata db=DB` tells where each series starts and ends.",
    "M181001E": "Leave out < > \" ! | \\ ; ' and all full-width characters, and give --codes without the database in "
    "front: MADR1Z@D rather than IR01'MADR1Z@D.",
    "M181002E": "Give --lang as jp or en, or leave it out.",
    "M181003E": "",
    "M181004E": "Give the database, for example FM08.",
    "M181006E": "Give --codes; `signet call boj_get_metadata db=DB` lists the series codes of a database.",
    "M181007E": "Ask for at most 1,250 series: split the --codes over several calls, or name deeper --layers; "
    "--layers count series of every frequency.",
    "M181008E": f"Write --start as {DATES}.",
    "M181009E": f"Write --end as {DATES}.",
    "M181010E": "Keep --start and --end within 1850 and 2050, in digits only.",
    "M181011E": "Exchange --start and --end.",
    "M181012E": "Begin again: `signet boj fetch` does with --restart.",
    "M181013E": "The Bank's message ends with the place of that code in --codes, counted from 1; look it up with "
    "`signet call boj_get_metadata db=DB`.",
    "M181015E": f"Write --start as the frequency of the series wants it: {DATES}.",
    "M181016E": f"Write --end as the frequency of the series wants it: {DATES}.",
    "M181017E": FREQUENCY,
    "M181018E": FREQUENCY,
    "M181019E": LAYERS,
    "M181020E": LAYERS,
}
"""The hints that have another text here; one that tells nothing to be done here is left out."""


@pytest.mark.parametrize("known", [one for one in bank_messages().values() if one.hint], ids=lambda one: one.id)
def test_every_hint_is_told_in_flags(known: BankMessage) -> None:
    fault = refused(known.status, known.id, known.japanese)

    told = to_flags(fault)

    head = fault.message.removesuffix(known.hint or "")
    assert told == f"{head}{HERE.get(known.id, known.hint)}".rstrip()


def test_every_name_that_a_remedy_has_for_the_tools_has_a_word_here() -> None:
    assert FLAGS.keys() == TOOL_NAMES.keys()


def test_an_answer_that_is_too_large_is_told_in_flags() -> None:
    told = to_flags(too_large("it is", LESS_DATA))

    assert told == (
        "The answer of the Bank of Japan is too large: it is. "
        "Ask for fewer series at a time or for a shorter span (--start, --end)."
    )


def test_every_flag_that_a_hint_names_is_one_of_the_commands() -> None:
    named = {flag for text in HERE.values() for flag in re.findall(r"--[a-z]+", text)}

    known = set(re.findall(r"--[a-z]+", run("boj", "fetch", "--help").stdout.decode()))

    assert named == {"--codes", "--end", "--frequency", "--lang", "--layers", "--restart", "--start"}
    assert named <= known


RULES = {
    "the database is required and must not be blank": lambda: validation.database(" "),
    "the database 'A,B' has a comma in it: name one database at a time": lambda: validation.database("A,B"),
    "--codes 'CODE and DB;' has the forbidden character ;": lambda: validation.codes(("CODE and DB;",)),
    "--codes '{codes}{0}<' has the forbidden character <": lambda: validation.codes(("{codes}{0}<",)),
    "--layers '0' must be * or a positive integer": lambda: validation.layers(("0",)),
    "--frequency must be one of Q, M, not 'X'": lambda: validation.choice("frequency", "X", ("Q", "M")),
    "--lang must be one of jp, en, not 'fr'": lambda: validation.choice("lang", "fr", ("jp", "en")),
    "--start '2024-01' must be numeric: the date is written in digits only": lambda: validation.span(
        "2024-01", None, validation.ANY_SHAPE
    ),
    "--end 184901 has a year outside 1850 to 2050": lambda: validation.span(None, "184901", validation.ANY_SHAPE),
    "--start 2024 and --end 202401 must have the same format": lambda: validation.span(
        "2024", "202401", validation.ANY_SHAPE
    ),
    "--start 2025 comes after --end 2024: give them in order": lambda: validation.span(
        "2025", "2024", validation.ANY_SHAPE
    ),
}


@pytest.mark.parametrize("told", RULES)
def test_a_rule_that_is_broken_is_told_in_flags(told: str) -> None:
    with pytest.raises(Fault) as caught:
        RULES[told]()

    assert to_flags(caught.value) == told


@pytest.mark.parametrize(
    "fault",
    [
        transport("start_date"),
        undecodable("CODE is codes"),
        refused(400, "M999999E", "start_date"),
        refused(400, "M181005E", "codes"),
        Fault(Code.NOT_FOUND, "CODE is nowhere"),
    ],
    ids=lambda fault: fault.message[:20],
)
def test_what_others_said_stays_as_it_is(fault: Fault) -> None:
    assert to_flags(fault) == fault.message
