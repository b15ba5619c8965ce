"""How long a stream lasts: as long as the token with which it was asked for is good, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

from signet.kernel.caller import Authenticator
from signet.kernel.errors import Fault
from signet.transports.guard import bearer_of
from signet.transports.messages import Request

__all__ = ["HEARTBEAT_S", "Admission"]

HEARTBEAT_S: Final = 15.0
"""The longest silence of a stream, and the time between two looks at its token."""
MAX_AGE_S: Final = 3600.0
"""The time after which a page has to ask again."""


class Admission:
    """Knows whether the one who asked for a stream may still have it."""

    def __init__(
        self, authenticator: Authenticator | None, request: Request, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._authenticator = authenticator
        self._token = bearer_of(request.headers)
        self._clock = clock
        self._began_s = self._looked_s = clock()

    async def lasts(self) -> bool:
        """Return whether the stream may go on; the token is looked at now and then."""
        now_s = self._clock()
        if now_s - self._began_s >= MAX_AGE_S:
            return False
        if self._authenticator is None or now_s - self._looked_s < HEARTBEAT_S:
            return True
        self._looked_s = now_s
        found = self._authenticator.identify(self._token)
        if isinstance(found, Awaitable):
            found = await found
        return not isinstance(found, Fault)
