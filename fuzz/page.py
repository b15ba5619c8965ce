"""The page that shows what was fuzzed: docs/fuzzing.md, drawn from `fuzz/results.json` and the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .catalogue import NAMES, find_target
from .session import corpus_of

__all__ = ["PAGE", "page", "write_page"]

PAGE = Path(__file__).parent.parent / "docs/fuzzing.md"
HEAD = """\
# Fuzzing

`make fuzz` wrote this page. Each reader of outside bytes is a target below `fuzz/`: valid samples, a grammar of what it
reads, words for mutations, and a run through the real entry points. Inputs are generated or mutated by bytes, by lines
and by the tree of the JSON in them; one that reaches new steps from line to line joins the stock of later ones.

A failure is an exception that the entry point does not document, an answer that breaks its contract, more CPU time than
a bound that is linear in the input, an event loop that is held for more than 50 ms of CPU time, memory over a bound, or
memory that rises and stays. Behind each input on the wire, a good request must be answered.

`make fuzz` takes ten minutes for all targets, and `make fuzz ARGS="--target wire,http --minutes 30"` runs some of them
for longer. A failing input is made smaller and written to `build/fuzz/crashes`. Each that was real is mended, and kept
in `fuzz/corpus/<target>` under a name that says what it is. `make test` runs the whole corpus again, and some hundred
fresh inputs for each target."""
COLUMNS = ("target", "what is read", "inputs", "minutes", "paths", "failures open", "kept inputs")


def page(results: dict[str, Any]) -> str:
    """Return the text of the page."""
    rows = ["| " + " | ".join(COLUMNS) + " |", "|---|---|---:|---:|---:|---:|---:|"]
    total = 0
    for name in NAMES:
        target, row = find_target(name), results.get(name, {})
        total += row.get("inputs", 0)
        cells = (
            name,
            target.about,
            f"{row.get('inputs', 0):,}",
            f"{row.get('minutes', 0):g}",
            f"{row.get('paths', 0):,}",
            str(row.get("failures", 0)),
        )
        rows.append(f"| {' | '.join(cells)} | {len(corpus_of(target))} |")
    found = [f"- `{name}/{file}`" for name in NAMES for file in corpus_of(find_target(name))]
    seeds = sorted({seed for row in results.values() for seed in row["seeds"]})
    parts = (
        HEAD,
        "\n".join(rows),
        (
            f"{total:,} inputs in all, with the seeds {', '.join(map(str, seeds)) or 'none'}. Paths are steps from "
            "line to line of the code under test."
        ),
        *_figures(results),
        "## What was found, and is kept",
        "\n".join(found) or "Nothing yet.",
    )
    return "\n\n".join(parts) + "\n"


def _figures(results: dict[str, Any]) -> list[str]:
    """Return a paragraph on what was measured beside the failures."""
    found = [
        f"{name}: {', '.join(f'{figure} {value:g}' for figure, value in row['figures'].items())}"
        for name, row in results.items()
        if row.get("figures")
    ]
    return [f"The most that any input took: {'; '.join(found)}."] if found else []


def write_page(results: dict[str, Any]) -> None:
    """Write the page."""
    PAGE.write_text(page(results), encoding="utf-8")
