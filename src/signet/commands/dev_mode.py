"""Whether a server runs in development mode; nothing of that mode is loaded where it does not."""

from __future__ import annotations

import os
from argparse import Namespace

__all__ = ["supervise", "wants_dev"]


def supervise(command: str, args: Namespace) -> int | None:
    """Run `serve` or `stdio` in development mode and return the exit status; None where that is not asked for."""
    if not wants_dev(args.dev):
        return None
    if command == "stdio":
        from .development.relay import Relay

        return Relay(args.given).run()
    from .development.http import HttpSupervisor

    return HttpSupervisor(args.given).run()


def wants_dev(flag: bool | None) -> bool:  # noqa: FBT001 - it is the flag
    """Return whether development mode is asked for, before anything of the user's is loaded."""
    from signet.settings import PREFIX, known_settings

    text = os.environ.get(f"{PREFIX}DEV", "")
    try:
        return bool(flag if flag is not None or not text.strip() else known_settings()["dev"].read(text))
    except ValueError:
        # Told when the settings are read.
        return False
