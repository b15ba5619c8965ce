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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("EUR", ("euro",)),
        ("fx", ("foreign", "exchange")),
        ("forex", ("foreign", "exchange")),
        ("PPI", ("producer", "price")),
        ("GDP", ("gross", "domestic")),
        ("CPI", ("price", "index")),
        ("USDJPY", ("dollar", "yen")),
        ("BOJ money", ("money",)),
        ("Bank of Japan money", ("money",)),
        ("ドル/円", ("ドル円",)),
        ("ユーロ／円", ("ユーロ円",)),
        ("prices", ("price",)),
        ("gas", ("gas",)),
        ("index9s", ("index9s",)),
    ],
)
def test_what_people_write_is_what_the_bank_writes(text: str, words: tuple[str, ...]) -> None:
    assert read_query(text).words == words


@pytest.mark.parametrize(("chars", "kept"), [(64, 64), (65, 64)])
def test_a_word_has_at_most_64_characters(chars: int, kept: int) -> None:
    assert read_query("x" * chars).words == ("x" * kept,)


@pytest.mark.parametrize(("count", "kept"), [(12, 12), (13, 12)])
def test_a_query_has_at_most_12_words(count: int, kept: int) -> None:
    words = tuple(f"w{number}" for number in range(count))

    assert read_query(" ".join(words)).words == words[:kept]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("短観", ("短観",)),
        ("業況判断", ("業況", "況判", "判断")),
        ("大企業", ("大企", "企業")),
        ("dollar yen", ("dollar", "yen")),
        ("円円円", ("円円",)),
    ],
)
def test_a_long_japanese_word_is_cut_into_pairs(text: str, pieces: tuple[str, ...]) -> None:
    assert read_query(text).pieces == pieces


def test_a_query_has_at_most_24_pieces() -> None:
    letters = "".join(chr(0x4E00 + number) for number in range(60))

    assert read_query(letters).pieces == tuple(letters[at : at + 2] for at in range(24))


def test_the_phrase_has_no_blanks_beside_japanese() -> None:
    assert read_query("Dollar Yen").phrase == "dollar yen"
    assert read_query("ドル 円 spot").phrase == "ドル円spot"
