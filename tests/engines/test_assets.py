"""The packed files: what they contain of others is named, with its licence."""

from __future__ import annotations

import os
import re

from signet.engines.assets import HERE, find_assets


def test_what_the_layout_engine_says_to_contain_is_named_in_the_notes() -> None:
    assets = find_assets()
    assert assets is not None
    with open(os.path.join(assets.scripts, "viz-global.js"), encoding="utf-8") as file:
        head = file.read(2000).partition("*/")[0]
    with open(os.path.join(HERE, "THIRD-PARTY.md"), encoding="utf-8") as file:
        notes = file.read()

    contained = re.findall(r"^(\w+) (https://\S+)$", head, re.MULTILINE)
    version = re.search(r"^Viz\.js [\d.]+$", head, re.MULTILINE)
    assert [name for name, _ in contained] == ["Graphviz", "Expat"]
    assert [pair for pair in contained if pair[0] not in notes or pair[1] not in notes] == []
    assert version is not None
    assert version[0] in notes
    assert "Permission is hereby granted" in notes
