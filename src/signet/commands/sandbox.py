"""`signet sandbox`: play a toolset's upstream on loopback until a signal."""

from __future__ import annotations

import argparse
from typing import Final

from signet.sandbox import run
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.settings.usage import UsageError

from .arguments import print_err

__all__ = ["add"]

EPILOG: Final = """\
GET /_sandbox lists the faults that it can play; POST /_sandbox/faults orders one, DELETE takes all orders back:

  signet sandbox boj --port 9000 &
  curl http://127.0.0.1:9000/_sandbox/faults -d '{"fault": "status"}'
  curl http://127.0.0.1:9000/_sandbox/requests          the requests that came

An order may have "match", a part of the address that it is for, and "times", how often it applies.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `signet sandbox`."""
    names = _with_sandbox()
    parser.epilog = EPILOG
    parser.add_argument("name", nargs="?", default="oj", help=f"the toolset: {' or '.join(names)} (default: oj)")
    parser.add_argument("--host", default="127.0.0.1", help="loopback address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 picks a free one (default: 0)")
    parser.add_argument("--token", help="bearer token that requests must send (default: none)")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Serve a toolset's sandbox."""
    names = _with_sandbox()
    if args.name not in names:
        raise UsageError(f"there is no sandbox '{args.name}'; there are: {', '.join(names)}")

    def announce(url: str) -> None:
        print_err(f"The {args.name} sandbox (sample data) is listening on {url}\n")

    token = (args.token or "").strip() or None
    try:
        run(find_toolset(args.name), args.host, args.port, token=token, announce=announce)
    except (OSError, OverflowError) as error:
        message = f"cannot listen on {args.host}:{args.port} ({error}); write another --host or --port, 0 for any"
        raise UsageError(message) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    return 0


def _with_sandbox() -> list[str]:
    return [name for name in TOOLSETS if find_toolset(name).sandbox is not None]
