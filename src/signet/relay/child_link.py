"""The link to a child process: one line for each message."""

from __future__ import annotations

import os
from collections.abc import Callable

from signet.upstream.child_environment import child_environment

from .child_process import ChildProcess
from .link import LinkError, Outgoing
from .server_spec import ServerSpec

__all__ = ["ChildLink"]


class ChildLink:
    """A server that this process starts, and ends."""

    def __init__(self, spec: ServerSpec, on_stderr: Callable[[str], None]) -> None:
        self._spec = spec
        self._on_stderr = on_stderr
        self._child: ChildProcess | None = None

    async def open(self, receive: Callable[[bytes], None], lost: Callable[[str], None]) -> None:
        """Start the command; raise LinkError if it cannot be started."""
        child = ChildProcess(
            self._spec.command,
            environ=child_environment(os.environ, self._spec.env),
            cwd=self._spec.cwd,
            on_line=receive,
            on_stderr=self._on_stderr,
            on_exit=lambda why: lost(self._without_secrets(why)),
            on_long_line=lambda begin, end: receive(begin + end),
        )
        try:
            await child.start()
        except OSError as error:
            raise LinkError(str(error)) from None
        self._child = child

    def _without_secrets(self, sentence: str) -> str:
        """Return a sentence that callers may read: it ends with words of the child, which may be its own key."""
        from signet.kernel.redaction import SecretRedactor

        from .spec_secrets import secrets_of

        return SecretRedactor(secrets_of(self._spec)).text(sentence)

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
