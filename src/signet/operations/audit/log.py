"""The audit log of one process: each exchange is a line in the file before its answer is sent.

An audit that was asked for is a promise: where a line cannot be written, the request is refused (503) in place of its
answer, and the next one tries again. The answer of `/healthz` is sent all the same: a supervisor that restarts the
process does not empty its disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import msgspec

from signet.kernel.errors import Code, Fault
from signet.kernel.exchange import Exchange
from signet.kernel.schemas import Bundle, SchemaRegistry
from signet.system.line_file import WriteOutage
from signet.system.redaction import redact_secrets

from .chain import Seal, Tail, add_line
from .file import EDGE_LOCK_S, AuditFile
from .line import (
    CONTINUED,
    PERIODIC,
    ROTATED,
    STARTED,
    STOPPED,
    UNCLOSED,
    CheckpointLine,
    RequestLine,
    request_line,
    timestamp,
)

if TYPE_CHECKING:
    from .stream import AuditStream

__all__ = ["UNWRITABLE", "AuditLog", "ContractDigests", "contract_digest"]

CHECKPOINT_LINES: Final = 1000
CHECKPOINT_S: Final = 60.0
"""A checkpoint is written after so many lines, or before the first line behind so much time."""
UNWRITABLE: Final = "AUDIT_UNAVAILABLE"


class AuditLog:
    """Writes the exchanges of one process."""

    def __init__(
        self,
        path: str,
        key: str | None,
        digest: Callable[[str], str],
        warn: Callable[[str], None],
        stream: Callable[[Seal], AuditStream] | None = None,
        *,
        shown: Callable[[str], str] = redact_secrets,
    ) -> None:
        """Open the file; `digest` tells that of a tool's contracts, `warn` is told when lines cannot be written.

        `shown` returns a text of a caller without secrets.

        With a `stream`, the lines are written to what it returns, and `path` is a name for messages alone.

        Raises:
            OSError: the file cannot be written, or it is not an audit log.
        """
        self.path = path
        self._seal = Seal(key)
        self._digest = digest
        self._shown = shown
        self._process = token_hex(4)
        self._entered = 0
        """The inode of the file in which this process has said that it writes to it."""
        self._outage = WriteOutage(warn, "lines of {} requests could not")
        self._file: AuditFile | AuditStream = (
            AuditFile(path, self._seal, self._checkpoint(ROTATED)) if stream is None else stream(self._seal)
        )

    def start(self) -> None:
        """Write the checkpoint that says that this process writes to the file.

        Raises:
            OSError: it cannot be written.
        """
        self._append(_nothing, wait_s=EDGE_LOCK_S)

    def __call__(self, exchange: Exchange) -> None:
        """Write the line of an exchange.

        Raises:
            Fault: it cannot be written, so the request has to be refused.
        """
        try:
            line = request_line(exchange, time.time(), self._digest, self._shown)
            self._append(lambda tail: self._lines(tail, line))
        except OSError as error:
            self._outage.note(_why(error))
            if not exchange.is_left and not exchange.is_vital:
                message = "The audit log cannot be written, so no request is answered: try again later"
                raise Fault(Code.INTERNAL_ERROR, message, name=UNWRITABLE, status=503) from None
            return
        self._outage.end()

    def close(self) -> None:
        """Write the checkpoint that says that this process has ended, and close the file."""
        try:
            self._append(self._checkpoint(STOPPED), wait_s=EDGE_LOCK_S)
        except OSError as error:
            self._outage.note(_why(error))
        self.release()

    def release(self) -> None:
        """Close the file without a word."""
        self._file.close()

    def _append(self, make: Callable[[Tail], bytes], *, wait_s: float = 0.0) -> None:
        """Write lines, behind the checkpoint with which this process comes to a file, unless it has."""

        def make_all(tail: Tail) -> bytes:
            # Looked at here: the file may be another one by now, or empty again.
            is_new = tail.first > tail.seq
            if self._entered == self._file.inode and not is_new:
                return make(tail)
            is_unclosed = is_new and tail.seq > 0 and not tail.is_closed
            before = self._checkpoint(UNCLOSED)(tail) if is_unclosed else b""
            return before + self._checkpoint(CONTINUED if self._entered else STARTED)(tail) + make(tail)

        self._file.append(make_all, wait_s=wait_s)
        self._entered = self._file.inode

    def _lines(self, tail: Tail, line: RequestLine) -> bytes:
        """Return a line, with a checkpoint if one is due."""
        if time.time() - tail.checked_s >= CHECKPOINT_S:
            return self._checkpoint(PERIODIC)(tail) + add_line(tail, line, self._seal)
        text = add_line(tail, line, self._seal)
        is_due = tail.seq - tail.checked >= CHECKPOINT_LINES
        return text + self._checkpoint(PERIODIC)(tail) if is_due else text

    def _checkpoint(self, event: str) -> Callable[[Tail], bytes]:
        def make(tail: Tail) -> bytes:
            tail.checked_s = time.time()
            now = timestamp(int(tail.checked_s * 1000))
            return add_line(tail, CheckpointLine(now, event, self._process, 0, self._seal.is_keyed), self._seal)

        return make


def _why(error: OSError) -> str:
    return error.strerror or os.strerror(error.errno or 0)


def _nothing(_: Tail) -> bytes:
    """Return no line."""
    return b""


class ContractDigests:
    """The digests of contracts by slug, each made once, and anew where a wrapped server changed the contract."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._made: dict[str, tuple[Bundle, str]] = {}

    def __call__(self, slug: str) -> str:
        """Return the digest of a tool's contracts."""
        bundle, made = self._registry.load_bundle(slug), self._made.get(slug)
        if made is None or made[0] is not bundle:
            made = self._made[slug] = bundle, contract_digest(self._registry, slug)
        return made[1]


def contract_digest(registry: SchemaRegistry, slug: str) -> str:
    """Return the SHA-256 of a tool's bundle as JSON with sorted keys, so that its layout does not count."""
    bundle = registry.load_bundle(slug)
    contracts = {
        "tool": bundle.tool,
        **{name: msgspec.json.decode(getattr(bundle, name)) for name in ("input", "output")},
    }
    return sha256(msgspec.json.encode(contracts, order="sorted")).hexdigest()
