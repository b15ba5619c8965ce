"""`signet boj fetch`: every page of a question, onto the disk as it comes, and then into one file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

from signet.app import build_server, resolve
from signet.kernel.errors import Code, Fault
from signet.kernel.server import Server
from signet.settings import Settings

from .cli_errors import to_flags
from .files import FORMS, check_form, form_of, write_file
from .pages import read_page
from .partial_download import PartialDownload
from .progress import amount, say, watching
from .series_query import SeriesQuery, origin_of, series_query_of

__all__ = ["fetch"]

FAILED: Final = 1
INTERRUPTED: Final = 130


def fetch(asked: Any, settings: Settings) -> int:
    """Fetch what was asked for, from where an earlier fetch stopped; the result is the exit status.

    Raises:
        UsageError: it cannot be asked for.
    """
    out = Path(asked.out)
    form = form_of(out, FORMS)
    check_form(form)
    server = build_server(resolve(settings))
    question = series_query_of(asked, origin_of(settings, server))
    try:
        part = PartialDownload(out.with_name(f"{out.name}.part"), question, restart=asked.restart)
    except Fault as fault:
        say(fault.message)
        return FAILED
    except OSError as error:
        say(f"cannot write {error.filename or out} ({error.strerror}); write another --out")
        return FAILED
    return _run(server, question, part, out, form)


def _run(server: Server, question: SeriesQuery, part: PartialDownload, out: Path, form: str) -> int:
    """Get what is missing and write the file; whatever stops it, the pages that have come are kept."""
    status = FAILED
    try:
        if part.pages:
            say(f"going on with {part.path}, which has {amount(part)}")
        asyncio.run(_collect(server, question, part))
        write_file(out, lambda file: FORMS[form](file, question, part.stored()))
        say(f"wrote {out}: {amount(part)}; source: {question.source}")
        status = 0
    except Fault as fault:
        say(to_flags(fault).removesuffix(".") + _outlook(part, again=fault.code is not Code.INVALID_INPUT))
    except OSError as error:
        say(f"cannot write {out} ({error.strerror})" + _outlook(part))
    except KeyboardInterrupt:
        say("interrupted" + _outlook(part))
        status = INTERRUPTED
    finally:
        # A part without a page is nothing to go on with.
        part.close(keep=status != 0 and part.pages > 0)
    return status


async def _collect(server: Server, question: SeriesQuery, part: PartialDownload) -> None:
    """Ask page after page, each once the one before it is on the disk."""
    try:
        with watching(question, part) as watch:
            while part.next is not None:
                part.add(await read_page(server, question, part.next))
                watch(part)
    finally:
        await server.close()


def _outlook(part: PartialDownload, *, again: bool = True) -> str:
    """Say what the same command would do now."""
    if part.pages:
        return f"; {amount(part)} are kept in {part.path}: the same command goes on where this one stopped"
    return "; no page had come: the same command begins again" if again else ""
