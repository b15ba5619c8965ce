"""A server of misbehaving tools on the real doors: `misbehaving_server.py stdio|serve [TIMEOUT_S]`."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from signet.app import SCHEMA_ROOT
from signet.kernel.errors import Code, Fault
from signet.kernel.pipeline import Pipeline
from signet.kernel.protocol import Identity
from signet.kernel.schemas import SchemaRegistry
from signet.kernel.server import Server
from signet.kernel.tools import Context, Tool, Toolbox, tool

TIMEOUT_S = 0.6
SECRET = "hunter2-in-the-exception"
INPUT = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "additionalProperties": False}
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}

Arguments = dict[str, Any]


def odd(name: str, **facts: Any) -> Any:
    return tool(name=name, slug=f"odd.{name}", title=name, **facts)


@odd("fine")
def fine(args: Arguments, ctx: Context) -> Any:
    """Does what it promises."""
    return {"n": args.get("n", 1)}


@odd("raises")
def raises(args: Arguments, ctx: Context) -> Any:
    """Raises what nobody expects."""
    raise RuntimeError(SECRET)


@odd("raises_later")
async def raises_later(args: Arguments, ctx: Context) -> Any:
    """Raises after a while."""
    await asyncio.sleep(0)
    raise RuntimeError(SECRET)


@odd("hangs")
async def hangs(args: Arguments, ctx: Context) -> Any:
    """Never answers, and says when it is cancelled."""
    sys.stderr.write("hangs: started\n")
    sys.stderr.flush()
    try:
        await asyncio.Event().wait()
    finally:
        sys.stderr.write("hangs: cancelled\n")
        sys.stderr.flush()


@odd("clings")
async def clings(args: Arguments, ctx: Context) -> Any:
    """Never answers and will not be cancelled."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


@odd("lies")
def lies(args: Arguments, ctx: Context) -> Any:
    """Returns what its contract forbids."""
    return {"n": "one"}


@odd("not_json")
def not_json(args: Arguments, ctx: Context) -> Any:
    """Returns what is no JSON."""
    return {"n": object()}


@odd("not_unicode")
def not_unicode(args: Arguments, ctx: Context) -> Any:
    """Returns half a surrogate pair."""
    return {"n": "\ud800"}


@odd("not_a_number")
def not_a_number(args: Arguments, ctx: Context) -> Any:
    """Returns a number that JSON has not."""
    return {"n": float("nan")}


@odd("too_much", max_result_bytes=100)
def too_much(args: Arguments, ctx: Context) -> Any:
    """Returns more than it may."""
    return {"n": 1, "more": "x" * 200}


@odd("prints")
def prints(args: Arguments, ctx: Context) -> Any:
    """Prints where only answers belong."""
    print("stray print")
    os.write(1, b"stray write\n")
    return {"n": 1}


@odd("missing")
def missing(args: Arguments, ctx: Context) -> Any:
    """Asks an upstream that has no such thing."""
    raise Fault(Code.NOT_FOUND, "no such thing upstream")


@odd("ticks")
async def ticks(args: Arguments, ctx: Context) -> Any:
    """Tells its progress n times, then answers."""
    for done in range(args.get("n", 3)):
        ctx.progress(done, None, f"step {done}")
        await asyncio.sleep(0)
    return {"n": args.get("n", 3)}


@odd("waits")
async def waits(args: Arguments, ctx: Context) -> Any:
    """Answers after n milliseconds."""
    await asyncio.sleep(args.get("n", 0) / 1000)
    return {"n": args.get("n", 0)}


TOOLS: tuple[Tool, ...] = (
    fine, raises, raises_later, hangs, clings, lies, not_json, not_unicode, not_a_number, too_much, prints, missing,
    ticks, waits,
)  # fmt: skip


def build(folder: str, timeout_s: float = TIMEOUT_S) -> Server:
    """Build the server over contracts of its own, written into a folder."""
    root = Path(folder)
    (root / "tools").mkdir()
    for name in ("envelope.schema.json", "tool_io.schema.json"):
        (root / name).write_bytes((Path(SCHEMA_ROOT) / name).read_bytes())
    for each in TOOLS:
        bundle = {"tool": each.slug, "input": INPUT, "output": OUTPUT}
        (root / f"tools/{each.slug}.json").write_bytes(msgspec.json.encode(bundle))
    pipeline = Pipeline(Toolbox(TOOLS), SchemaRegistry(schema_root=root), timeout_s=timeout_s)
    return Server(pipeline, Identity("odd", "1"), "Odd tools.")


def _web_app(folder: str, timeout_s: float) -> Any:
    from signet.transports.guard import Guard
    from signet.transports.web_app import App

    return App(build(folder, timeout_s), Guard(), {"version": "1"})


def main(transport: str, timeout_s: float = TIMEOUT_S) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if transport == "stdio":
            from signet.transports.pipes import claim_stdout
            from signet.transports.stdio import serve

            in_thread = os.environ.get("SIGNET_STDIO_READER") == "thread"
            if serve(build(folder, timeout_s), claim_stdout(), in_thread=in_thread):
                os._exit(0)
        else:
            from signet.transports import slots
            from signet.transports.listening import bind
            from signet.transports.workers import WorkerService, end_on_signals
            from signet.transports.workers import serve as serve_web

            end_on_signals()
            listener = bind("127.0.0.1", 0)
            print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
            serve_web(WorkerService(partial(_web_app, folder, timeout_s), listener, slots.ConnectionLimits()))


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:]))
