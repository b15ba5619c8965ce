"""Everything that a server and a caller may say to each other survives `signet wrap`, whatever era each side speaks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wrap.relay_case import Links
from wrap.relay_matrix import Place, in_turn, label_of, run
from wrap.wrappers import WRAP


@pytest.fixture(scope="module")
def links() -> Iterator[Links]:
    """Wrapped servers, one for each pairing, which the cases share."""
    made = Links(WRAP)
    yield made
    made.close()


@pytest.mark.parametrize("place", in_turn(), ids=label_of)
def test_a_case_of_the_relay_matrix_holds(links: Links, place: Place) -> None:
    try:
        run(links, place)
    except BaseException:
        links.discard(*place[1:])
        raise
