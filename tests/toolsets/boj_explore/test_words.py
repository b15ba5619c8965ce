"""How words are spelt before they are compared."""

from __future__ import annotations

import pytest

from signet.toolsets.boj_explore.words import fold, read_query


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("東京市場　ドル・円　スポット　9時時点", "東京市場ドル円スポット9時時点"),
        ("ﾄﾞﾙ･円", "ドル円"),
        ("US.Dollar/Yen Spot Rate", "us dollar yen spot rate"),
        ("D.I./業況/大企業/製造業", "di業況大企業製造業"),
        ("U.S. Dollar", "us dollar"),
        ("無担保コールＯ／Ｎ物レート", "無担保コールo n物レート"),
        ("MADR1Z@D", "madr1z@d"),
        ("DLDDLKY45090_DLDD3DBTTL", "dlddlky45090_dldd3dbttl"),
    ],
)
def test_width_case_dots_and_blanks_make_no_difference(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dollar yen", ("dollar", "yen")),
        ("Dollar/Yen rates", ("dollar", "yen", "rate")),
        ("USD JPY", ("dollar", "yen")),
        ("ドル・円", ("ドル円",)),
        ("日銀短観", ("短観",)),
        ("gross business", ("gross", "business")),
        ("  ", ()),
        ("dollar dollar", ("dollar",)),
    ],
)
def test_a_query_has_the_words_of_the_index(text: str, words: tuple[str, ...]) -> None:
    assert read_query(text).words == words


def test_a_long_query_is_bounded() -> None:
    query = read_query(" ".join(f"w{n}" for n in range(1000)) + " " + "長" * 10_000)

    assert len(query.words) == 12
    assert len(query.pieces) <= 24
