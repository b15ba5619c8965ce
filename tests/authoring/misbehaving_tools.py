"""Tools that do what no tool should."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import Any

import signet

print("printed while it was imported")


@signet.tool
def echo(text: str) -> str:
    """Give a text back."""
    return text


@signet.tool
def prints(text: str) -> str:
    """Print on standard output, also by another process."""
    print(text)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return text


@signet.tool
def exits() -> int:
    """End the process."""
    sys.exit(3)


@signet.tool
async def exits_async() -> int:
    """End the process, from the event loop."""
    raise SystemExit(3)


@signet.tool(inline=True)
def interrupts() -> int:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


@signet.tool
def stops() -> int:
    """Raise what no future can hold."""
    raise StopIteration


@signet.tool
def sleeps() -> int:
    """Never return."""
    time.sleep(3600)
    return 1


@signet.tool
def spins() -> int:
    """Never return, and never wait."""
    while True:
        pass


@signet.tool
async def waits() -> int:
    """Never return, and hold on to its task."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


@signet.tool
def nan() -> float | None:
    """Give what JSON has no word for."""
    return float("nan")


@signet.tool
def deep_nan() -> dict[str, Any]:
    """Give it further down."""
    return {"a": [{"b": float("inf")}]}


@signet.tool
def cyclic() -> list[Any]:
    """Give what contains itself."""
    value: list[Any] = []
    value.append(value)
    return value


@signet.tool
def wrong() -> int:
    """Give another type than it says."""
    return "text"  # type: ignore[return-value]


@signet.tool
def odd() -> Any:
    """Give what is no JSON."""
    return object()


@signet.tool
def huge() -> str:
    """Give too much."""
    return "x" * 5_000_000


@signet.tool
def forgets() -> int:
    """Give a coroutine."""
    return asyncio.sleep(0)  # type: ignore[return-value]


@signet.tool
def secret() -> int:
    """Raise with a secret in the text."""
    raise ValueError("canary-of-a-secret")


@signet.tool
def refuses(name: str) -> str:
    """Raise a fault of its own."""
    raise signet.Fault(signet.Code.NOT_FOUND, f"there is no {name}")


@signet.tool
def asks() -> str:
    """Read standard input, also by another process."""
    done = subprocess.run(["head", "-n", "1"], capture_output=True, check=True, text=True)
    return sys.stdin.readline() + done.stdout
