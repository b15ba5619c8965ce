"""Statements on disk: a judge does not change a problem, so it is asked for once.

tool ── StatementCache ── a file of the folder
                       └─ the backend ── a whole answer with a statement ──▶ a new file
"""

from __future__ import annotations

import asyncio
import os
from hashlib import sha256
from typing import Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import CacheState, Upstream, UpstreamRequest, UpstreamResponse, UpstreamState, states_of
from signet.kernel.waiting import Waiting
from signet.system.files import make_private_folders, read_regular, replacing

from .models import FullProblem, FullResolved
from .render import with_chinese

__all__ = ["NoBackend", "StatementCache"]

SHAPES: Final[dict[str, type[FullProblem | FullResolved]]] = {
    "/api/v1/problems/": FullProblem,
    "/api/v1/resolve/": FullResolved,
}
"""The requests whose answers are kept, by the beginning of their targets."""

OK: Final = 200
MAX_FILES: Final = 5_000
"""With more files the oldest tenth is removed; a statement takes some ten KiB."""


class _Entry(msgspec.Struct, frozen=True):
    """The content of a file."""

    target: str
    content_type: str
    body: str


class NoBackend:
    """In the place of a backend that is not known: whichever backend a statement came from, it is in the folder."""

    origin = ""
    has_token = False

    async def send(self, _: UpstreamRequest, __: Waiting | None = None) -> UpstreamResponse:
        """Raise a Fault."""
        raise Fault(Code.INTERNAL_ERROR, "no backend is set")

    def warm(self) -> None:
        """Do nothing."""

    def forget(self, request: UpstreamRequest) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


class StatementCache:
    """A backend whose statements are kept in a folder; every other request passes through."""

    def __init__(self, inner: Upstream, folder: str, *, offline: bool = False) -> None:
        self.origin = inner.origin
        self.has_token = inner.has_token
        self._inner = inner
        self._folder = folder
        self._offline = offline
        self._hits = self._misses = 0

    async def send(self, request: UpstreamRequest, wait: Waiting | None = None) -> UpstreamResponse:
        """Return the answer of a file, or of the backend; offline, raise a Fault for what no file holds."""
        shape = next((shape for start, shape in SHAPES.items() if request.target.startswith(start)), None)
        if shape is None or not request.is_plain:
            if self._offline:
                raise _not_kept(self._folder)
            return await self._inner.send(request, wait)
        path = self._path(request)
        kept = await asyncio.to_thread(_read if self.origin else _search, path, request.target)
        if kept is not None:
            self._hits += 1
            return kept
        self._misses += 1
        if self._offline:
            raise _not_kept(self._folder)
        response = await self._inner.send(request, wait)
        if has_statement(response, shape):
            await asyncio.to_thread(_write, path, request.target, response)
        return response

    def states(self) -> list[UpstreamState]:
        """Return the state of the backend, with that of the folder."""
        own = CacheState("statements", self._hits, self._misses)
        return [msgspec.structs.replace(one, caches=(own, *one.caches)) for one in states_of(self._inner)]

    def warm(self) -> None:
        """Load what the first request needs."""
        self._inner.warm()

    def forget(self, request: UpstreamRequest) -> None:
        """Do nothing: only answers that could be read are kept."""

    async def close(self) -> None:
        """Close the connections."""
        await self._inner.close()

    def _path(self, request: UpstreamRequest) -> str:
        # Another backend may have another problem of the same id.
        name = sha256(f"{self.origin}\n{request.target}".encode()).hexdigest()[:40]
        return os.path.join(self._folder, f"{name}.json")


def has_statement(response: UpstreamResponse, shape: type[FullProblem | FullResolved]) -> bool:
    """Return whether a response is whole and holds a statement, so that it will not change."""
    if response.status != OK or response.cut or response.broken:
        return False
    try:
        value = msgspec.json.decode(response.body.decode(), type=shape)
    except (ValueError, RecursionError):
        return False
    problem = value.problem if isinstance(value, FullResolved) else value
    return problem is not None and bool((with_chinese(problem).content or "").strip())


def _read(path: str, target: str) -> UpstreamResponse | None:
    """Return the answer in a file; a file that cannot be used counts as none."""
    try:
        entry = msgspec.json.decode(read_regular(path), type=_Entry)
    except (OSError, ValueError, RecursionError):
        return None
    return UpstreamResponse(OK, entry.content_type, entry.body.encode()) if entry.target == target else None


def _search(path: str, target: str) -> UpstreamResponse | None:
    """Return the newest answer to a request in the folder of a path, whichever backend sent it."""
    try:
        with os.scandir(os.path.dirname(path)) as entries:
            files = sorted((-entry.stat().st_mtime, entry.path) for entry in entries if entry.name.endswith(".json"))
    except OSError:
        return None
    return next(filter(None, (_read(path, target) for _, path in files)), None)


def _write(path: str, target: str, response: UpstreamResponse) -> None:
    """Write a file; where the disk takes none, the answer is just not kept."""
    entry = _Entry(target, response.content_type, response.body.decode())
    folder = os.path.dirname(path)
    try:
        make_private_folders(folder)
        _make_room(folder)
        with replacing(path, f"{path}.{os.getpid()}", private=True) as file:
            file.write(msgspec.json.encode(entry))
    except OSError:
        return


def _make_room(folder: str) -> None:
    with os.scandir(folder) as entries:
        files = [entry.path for entry in entries if entry.name.endswith(".json")]
    if len(files) >= MAX_FILES:
        for path in sorted(files, key=os.path.getmtime)[: MAX_FILES // 10]:
            os.unlink(path)


def _not_kept(folder: str) -> Fault:
    message = f"it is not among the statements in {folder}: ask for it once without --offline (OJ_OFFLINE)"
    return Fault(Code.NOT_FOUND, message, as_tool_result=True)
