"""`signet boj index`: fill the index of series, one list after the other, with a bar on a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from signet.app import build_server, resolve
from signet.commands.terminal import say
from signet.settings.model import Settings
from signet.settings.usage import UsageError
from signet.toolsets.boj_explore.shelf import ORDER
from signet.toolsets.boj_explore.store import ListFacts, check_sqlite
from signet.toolsets.boj_explore.upstream import IndexUpstream

__all__ = ["index"]

FAILED: Final = 1
INTERRUPTED: Final = 130
A_DAY_S: Final = 86_400.0

Show = Callable[[str, ListFacts | None, int], None]


def index(args: Any, settings: Settings) -> int:
    """Ask for every list that is missing or old; return the exit status.

    Raises:
        UsageError: the settings leave no index to fill.
    """
    cannot = check_sqlite()
    if cannot:
        raise UsageError(cannot)
    server = build_server(resolve(settings))
    service = server.upstreams[-1]
    if not isinstance(service, IndexUpstream):
        raise UsageError("a recording is neither filled nor made: leave SIGNET_RECORD and SIGNET_REPLAY out")
    facts: dict[str, ListFacts] = {}
    try:
        with _progress() as show:
            asyncio.run(_fill(service, facts, show, rebuild=args.rebuild))
    except KeyboardInterrupt:
        say(f"interrupted; {_extent(facts)}: the same command goes on where this one stopped")
        return INTERRUPTED
    return _report(service, facts)


async def _fill(service: IndexUpstream, facts: dict[str, ListFacts], show: Show, *, rebuild: bool) -> None:
    """Fill the shelf, and note what there is at the end, also at an early one."""
    service.index.crawl.on_list = show
    try:
        await service.index.crawl.go(wait_s=A_DAY_S, everything=rebuild)
    finally:
        await service.index.crawl.close()
        facts |= service.index.crawl.shelf.facts()
        await service.close()


def _report(service: IndexUpstream, facts: dict[str, ListFacts]) -> int:
    """Say what there is now."""
    shelf = service.index.crawl.shelf
    missing = [db for db in ORDER if db not in facts]
    is_kept = shelf.folder and not shelf.trouble
    where = f", in {shelf.folder}" if is_kept else "; the index is not kept: write --boj-index-dir DIR to keep it"
    say(f"{_extent(facts)}{where}")
    if shelf.trouble:
        say(f"{shelf.folder}: {shelf.trouble}")
    if missing:
        why = service.index.crawl.trouble or "no room"
        say(f"{', '.join(missing)} did not come: {why}; the same command asks again")
    return FAILED if missing or shelf.trouble else 0


def _extent(facts: dict[str, ListFacts]) -> str:
    series = sum(one.series for one in facts.values())
    return f"{len(facts)} of {len(ORDER)} databases with {series:,} series are indexed"


@contextlib.contextmanager
def _progress() -> Iterator[Show]:
    """Show each list that came; yield the function that does it."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda db, facts, due: say(f"{db}: {f'{facts.series:,} series' if facts else 'no list'}; {due} to come")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<4}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(ORDER))

        def show(db: str, _: ListFacts | None, due: int) -> None:
            bar.update(task, description=db, completed=len(ORDER) - due)

        yield show
