"""Whether a server runs in development mode; nothing of that mode is loaded where it does not."""

from __future__ import annotations

import os
from argparse import Namespace

__all__ = ["supervise", "wants_dev"]


def supervise(command: str, args: Namespace) -> int | None:
    """Run `serve` or `stdio` in development mode and return the exit status; None where that is not asked for."""
    if not wants_dev(args.dev, args.config):
        return None
    if command == "stdio":
        from .development.relay import Relay
        from .same_tools import same_tools

        return Relay(args.given, lambda: same_tools(args)).run()
    from .development.http import HttpSupervisor

    return HttpSupervisor(args.given).run()


def wants_dev(flag: bool | None, config: str | None = None) -> bool:  # noqa: FBT001 - it is the flag
    """Return whether flag, variable or file ask for development mode, before anything of the user's is loaded."""
    from signet.settings.names import FILE, PREFIX, find_setting
    from signet.settings.usage import UsageError

    text = os.environ.get(f"{PREFIX}DEV", "")
    try:
        if flag is not None or text.strip():
            setting = find_setting("dev") if flag is None else None
            return bool(flag if setting is None else setting.read(text))
        # A pipe can be read only once.
        if not os.path.isfile(config or os.environ.get(f"{PREFIX}CONFIG") or FILE):
            return False
        from signet.settings.file import find_file

        file = find_file(os.environ, {"config": config})
        return file is not None and file.table.get("dev") is True
    except (ValueError, UsageError):
        # Told when the settings are read.
        return False
