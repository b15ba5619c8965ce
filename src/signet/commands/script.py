"""`signet.run()`: a script that serves its own tools."""

from __future__ import annotations

import asyncio
import os
import sys

__all__ = ["run"]


def run() -> None:
    """Serve the tools of the script that calls this, on standard input and output; a module that is imported does not.

    The script's arguments are the flags of `signet stdio`.
    """
    names = sys._getframe(1).f_globals  # noqa: SLF001 - who calls is the question
    if names.get("__name__") != "__main__":
        return
    from signet.authoring.target import toolset_of_script
    from signet.settings.catalogue import register
    from signet.settings.usage import UsageError

    from .arguments import USAGE, print_err_line
    from .cli import main, wants_dev

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        print_err_line("signet", "signet.run() has an event loop of its own: call it outside of asyncio.run()")
        sys.exit(USAGE)
    try:
        toolsets = toolset_of_script(names)
    except UsageError as error:
        print_err_line("signet", error)
        sys.exit(USAGE)
    if wants_dev(flag="--dev" in sys.argv[1:] or None) and "__file__" in names:
        # Each generation of the tools loads the file afresh.
        sys.exit(main(["stdio", os.path.abspath(names["__file__"]), *sys.argv[1:]]))
    for toolset in toolsets:
        register(toolset)
    sys.exit(main(["stdio", "--toolsets", ",".join(toolset.name for toolset in toolsets), *sys.argv[1:]]))
