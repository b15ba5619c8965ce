"""The list of databases, which the Bank of Japan's API has no way to ask for."""

from __future__ import annotations

import re

import pytest

from signet.toolsets.boj.databases import DATABASES, Database, search


def test_there_are_50_databases_in_12_fields_in_the_manuals_order() -> None:
    codes = [one.code for one in DATABASES]

    assert " ".join(codes) == (
        "IR01 IR02 IR03 IR04 FM01 FM02 FM03 FM04 FM05 FM06 FM07 FM08 FM09 PS01 PS02 "
        "MD01 MD02 MD03 MD04 MD05 MD06 MD07 MD08 MD09 MD10 MD11 MD12 MD13 MD14 LA01 LA02 LA03 LA04 LA05 "
        "BS01 BS02 FF OB01 OB02 CO PR01 PR02 PR03 PR04 PF01 PF02 BP01 BIS DER OT"
    )
    assert len(codes) == len(set(codes)) == 50
    assert len({one.category_japanese for one in DATABASES}) == len({one.category_english for one in DATABASES}) == 12


def test_every_database_has_its_names_in_both_languages() -> None:
    japanese = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")

    for one in DATABASES:
        assert japanese.search(one.japanese), one.code
        assert japanese.search(one.category_japanese), one.code
        assert one.english.isascii(), one.code
        assert one.category_english.isascii(), one.code
        assert all(text == text.strip() for text in one), one.code


def test_a_database_is_told_whole() -> None:
    assert DATABASES[11] == Database(
        "FM08", "外国為替市況", "Foreign Exchange Rates", "マーケット関連", "Financial Markets"
    )


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("FM08", "FM08"),
        ("fm08", "FM08"),
        ("foreign EXCHANGE", "FM08"),
        ("exchange", "FM08 FM09"),
        ("為替", "FM08 FM09"),
        ("物価", "PR01 PR02 PR03 PR04"),
        ("prices satellite", "PR04"),
        ("call o/n", "FM01"),
        ("コール", "FM01 FM04"),
        ("public finance", "PF01 PF02"),
        ("tankan", "CO"),
        ("boj", ""),
        ("nothing of the kind", ""),
    ],
)
def test_databases_are_found_by_code_name_and_field_in_either_language(text: str, codes: str) -> None:
    assert " ".join(one.code for one in search(text)) == codes


@pytest.mark.parametrize("text", ["", "   "])
def test_a_search_for_nothing_gives_all(text: str) -> None:
    assert search(text) == list(DATABASES)
