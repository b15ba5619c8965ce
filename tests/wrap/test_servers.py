"""The official servers of npm say through `signet wrap` what they say directly, and say it again from a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from wrap.catalogue import SUITE_PACKAGES, Listed, official
from wrap.wrapped_servers import Trial, web

LEGS = ("stdio handshake", "HTTP modern", "recorded", "replayed stdio modern", "replayed HTTP handshake")
"""Each door and each era, directly and from a recording; `make wrapped-servers` has all conversations."""


@pytest.mark.parametrize("server", official(SUITE_PACKAGES), ids=lambda server: server.name)
def test_a_server_says_the_same_through_both_doors_in_both_eras_and_when_replayed(
    tmp_path: Path, server: Listed
) -> None:
    with web() as page:
        trial = Trial(server, tmp_path, page, legs=LEGS)

        found = trial.run()

    said = trial.spoken["handshake"]
    assert len(said.lists["tools/list"]) > 0
    assert len(said.answers) == len(server.calls) + len(server.reads) + len(server.prompts)
    assert found == {leg: [] for leg in LEGS}
