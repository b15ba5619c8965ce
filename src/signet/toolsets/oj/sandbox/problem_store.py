"""The shelf: every sample problem, found by id or by slug."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from .problem import SOURCES, SampleFile, SampleProblem, read_sample

__all__ = ["ProblemStore", "natural"]


class ProblemStore:
    """The samples of all sources, each source in the natural order of its ids."""

    def __init__(self, samples: Iterable[SampleFile]) -> None:
        self.samples = sorted(samples, key=lambda one: (one.problem.source, natural(one.problem.id)))
        problems = [one.problem for one in self.samples]
        self._by_id = {(one.source, one.id): one for one in problems}
        self._by_slug = {(one.source, one.slug): one for one in problems}

    @classmethod
    def load(cls) -> ProblemStore:
        """Read the samples that come with the package."""
        folder = files(__package__) / "problems"
        return cls(read_sample(one.read_text("utf-8")) for one in folder.iterdir() if one.is_file())

    def find(self, source: str, problem_id: str) -> SampleProblem | None:
        """Give a problem by its id, as it is written."""
        return self._by_id.get((source, problem_id))

    def find_slug(self, source: str, slug: str) -> SampleProblem | None:
        """Give a problem by its slug, as it is written."""
        return self._by_slug.get((source, slug))

    def of(self, source: str) -> list[SampleProblem]:
        """Give the problems of one source."""
        return [one.problem for one in self.samples if one.problem.source == source]

    def counts(self) -> list[dict[str, Any]]:
        """Count the problems of each source that has any, as `/status` tells them."""
        return [
            {
                "source": source,
                "total": len(mine),
                "missing_content": sum(one.problem.content is None for one in mine),
                "not_embedded": sum(not one.embedded for one in mine),
            }
            for source in SOURCES
            if (mine := [one for one in self.samples if one.problem.source == source])
        ]


def natural(text: str) -> list[tuple[int, int, str]]:
    """Order ids as people do: P9 before P10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]
