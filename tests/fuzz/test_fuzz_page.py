"""docs/fuzzing.md is what the counts and the corpus say, and each kept input has a name that says what it is."""

from __future__ import annotations

import re

from fuzz.catalogue import NAMES, find_target
from fuzz.page import PAGE, page
from fuzz.results import read_results
from fuzz.session import CORPUS, corpus_of


def test_the_page_is_drawn_from_the_results() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read_results())


def test_every_target_has_been_run_and_no_failure_is_open() -> None:
    results = read_results()

    assert set(results) == set(NAMES)
    assert all(row["inputs"] > 0 and row["failures"] == 0 for row in results.values())


def test_the_corpus_is_of_targets_and_named_by_words() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} <= set(NAMES)
    for name in NAMES:
        for file, data in corpus_of(find_target(name)).items():
            assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", file), file
            assert len(data) <= 65_536
