"""The page of figures in Prometheus' text format. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from signet.system.figures.families import BY_NAME, Family
from signet.system.figures.registry import Figures

__all__ = ["CONTENT_TYPE", "exposition"]

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"


def exposition(figures: Figures) -> bytes:
    """Return the page of some figures; a counter without labels is there from the start, with 0."""
    by_family: dict[str, list[tuple[tuple[str, ...], list[float]]]] = {name: [] for name in BY_NAME}
    for (name, labels), cells in sorted(figures.items()):
        by_family[name].append((labels, cells))
    lines: list[str] = []
    for name, family in BY_NAME.items():
        series = by_family[name] or ([((), [0.0] * family.width)] if not family.labels else [])
        if series:
            lines += (f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}")
        for labels, cells in series:
            lines += _lines(family, name, labels, cells)
    return "".join(f"{line}\n" for line in lines).encode()


def _lines(family: Family, name: str, labels: tuple[str, ...], cells: list[float]) -> Iterator[str]:
    pairs = [f'{label}="{_escaped(value)}"' for label, value in zip(family.exposed_labels, labels, strict=True)]
    if family.kind != "histogram":
        yield f"{name}{_braced(pairs)} {_number(cells[0])}"
        return
    *buckets, total = cells
    bounds = [*map(_number, family.bounds), "+Inf"]
    for bound, count in zip(bounds, accumulate(buckets), strict=True):
        limit = f'le="{bound}"'
        yield f"{name}_bucket{_braced([*pairs, limit])} {_number(count)}"
    yield f"{name}_sum{_braced(pairs)} {_number(total)}"
    yield f"{name}_count{_braced(pairs)} {_number(sum(buckets))}"


def _braced(pairs: Iterable[str]) -> str:
    text = ",".join(pairs)
    return f"{{{text}}}" if text else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
