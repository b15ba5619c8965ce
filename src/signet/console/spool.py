"""The spool: what the processes of one server tell each other for the console, in files of a folder that they share.

    each process ── publish ──▶ <pid>.jsonl ── others ──▶ the process that a browser asks

With one process there is nothing to tell: `Spool` is that case, and `SharedSpool` is a folder's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["Spool"]


class Spool:
    """The spool of a server with one process: nobody reads what is published, and there are no others."""

    def publish(self, kind: str, lines: Sequence[bytes]) -> None:
        """Tell the other processes; each line is one JSON value. Raise nothing, and call it from any thread."""

    def others(self, kind: str) -> Iterable[bytes]:
        """Return the lines of a kind that other processes have published since the last time, oldest first."""
        del kind
        return ()
