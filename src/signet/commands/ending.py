"""The end of a command whose threads may not end: Python would wait for them."""

from __future__ import annotations

import os
import sys
import threading
from typing import Final

__all__ = ["leave"]

ENDING_S: Final = 1.0
"""How long a thread may take to end before the process ends without it."""


def leave(status: int, others: set[threading.Thread]) -> None:
    """End the process at once if a thread that began since then is still at work; `others` were there before."""
    threads = [thread for thread in threading.enumerate() if thread not in others and not thread.daemon]
    for thread in threads:
        thread.join(ENDING_S)  # those that have nothing to do end at once
    if any(thread.is_alive() for thread in threads):
        if sys.stdout is not None:
            sys.stdout.flush()
        os._exit(status)
