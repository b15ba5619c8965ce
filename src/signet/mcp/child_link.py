"""The link to a child process: one line for each message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from signet.kernel.errors import INTERNAL
from signet.kernel.wire import failure
from signet.mcp.link import LinkError, Outgoing
from signet.mcp.messages import error_object, outline_of, response
from signet.system.line_process import MAX_LINE_BYTES, LineProcess

__all__ = ["ChildLink"]

TOO_LONG: Final = (
    f"has more than {MAX_LINE_BYTES >> 20} MiB ({MAX_LINE_BYTES} bytes), the most that is read of a message"
)


class ChildLink:
    """A server that this process starts, and ends."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        on_stderr: Callable[[str], None],
        *,
        cwd: str | None = None,
        shown: Callable[[str], str] = str,
    ) -> None:
        """Remember what to start; `shown` makes readable for callers what ends with words of the child."""
        self._command = command
        self._environ = environ
        self._cwd = cwd
        self._on_stderr = on_stderr
        self._shown = shown
        self._child: LineProcess | None = None

    async def open(
        self, receive: Callable[[bytes], None], lost: Callable[[str], None], unreadable: Callable[[str], None]
    ) -> Callable[[bytes], None]:
        """Start the command and return how a line is written to it; raise LinkError if it cannot be started."""
        child = LineProcess(
            self._command,
            environ=self._environ,
            cwd=self._cwd,
            on_line=receive,
            on_stderr=self._on_stderr,
            on_exit=lambda why: lost(self._shown(why)),
            on_long_line=partial(self._refuse, receive, unreadable),
        )
        try:
            await child.start()
        except OSError as error:
            raise LinkError(str(error)) from None
        self._child = child
        return child.write

    def _refuse(
        self, receive: Callable[[bytes], None], unreadable: Callable[[str], None], begin: bytes, end: bytes
    ) -> None:
        """Answer in place of a message that is too long: the requester gets an error, and no part of the message."""
        outline = outline_of(begin, end)
        if outline.is_reply:
            why = f"the server's answer {TOO_LONG}; the request may have been carried out: ask for a smaller result"
            is_batch = begin.lstrip().startswith(b"[")
            if not isinstance(outline.id, int) or is_batch:
                unreadable(why)
            else:
                receive(failure(outline.id, INTERNAL, why).body)
        elif outline.is_request and outline.id is not None and self._child is not None:
            self._child.write(response(outline.id, error=error_object(INTERNAL, f"the request {TOO_LONG}")))

    def send(self, message: Outgoing) -> None:
        """Write a line."""
        if self._child is not None:
            self._child.write(message.body)

    def cancel(self, request_id: int) -> None:
        """Do nothing: the notification says it."""

    async def close(self) -> None:
        """End the child and all that it started."""
        if self._child is not None:
            await self._child.close()
