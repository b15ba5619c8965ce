"""`signet.run()`: a script that serves its own tools."""

from __future__ import annotations

import sys

__all__ = ["run"]


def run() -> None:
    """Serve the tools of the script that calls this, on standard input and output; a module that is imported does not.

    The script's arguments are the flags of `signet stdio`.
    """
    names = sys._getframe(1).f_globals  # noqa: SLF001 - who calls is the question
    if names.get("__name__") != "__main__":
        return
    from signet.authoring.importing import TargetError
    from signet.authoring.target import toolset_of_script
    from signet.catalogue import register

    from .arguments import USAGE, print_err_line
    from .cli import main

    try:
        toolsets = toolset_of_script(names)
    except TargetError as error:
        print_err_line("signet", error)
        sys.exit(USAGE)
    for toolset in toolsets:
        register(toolset)
    sys.exit(main(["stdio", "--toolsets", ",".join(toolset.name for toolset in toolsets), *sys.argv[1:]]))
