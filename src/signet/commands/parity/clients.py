"""The wires between a way and its process: two pipes, or a connection for each call."""

from __future__ import annotations

import http.client
from typing import Protocol
from urllib.parse import urlsplit

from .channels import ChannelMessage
from .server_process import PATIENCE_S, ServerProcess

__all__ = ["ChannelClient", "HttpChannelClient", "StdioChannelClient"]


class ChannelClient(Protocol):
    """Carries a message to a process, and its answer back."""

    def exchange(self, message: ChannelMessage) -> bytes:
        """Send a message and give its answer; empty where none is owed.

        Raises:
            OSError: none came.
        """


class StdioChannelClient:
    """A line there, a line back."""

    def __init__(self, child: ServerProcess) -> None:
        self._child = child

    def exchange(self, message: ChannelMessage) -> bytes:
        """Send a line and read the next one."""
        self._child.send(message.body)
        return self._child.receive() if message.answered else b""


class HttpChannelClient:
    """A request there, a response back."""

    def __init__(self, child: ServerProcess) -> None:
        self._child = child

    def exchange(self, message: ChannelMessage) -> bytes:
        """Post a body and read the answer to its end."""
        address = urlsplit(self._child.url())
        # One connection a call: none is kept so long that the server may have closed it.
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE_S)
        try:
            connection.request("POST", message.path, message.body, message.headers)
            return connection.getresponse().read()
        except http.client.HTTPException as error:
            why = f"no HTTP answer ({type(error).__name__})"
            raise ConnectionError(why) from None
        finally:
            connection.close()
