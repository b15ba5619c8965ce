"""The child process of the JavaScript engine: PlantUML in V8, one order at a time over two pipes.

It ends when its input does, also in the middle of a diagram, and after a diagram that took too long:
V8 does not draw again after that.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from typing import Any, BinaryIO, Final

from signet.engines.fonts import read_widths
from signet.engines.frames import LENGTH_BYTES, Answer, Order, Start, length_of, pack, unpack
from signet.engines.scripts import LIBRARIES, as_script, fonts_script

__all__ = ["main"]

LOAD_S: Final = 60.0
GRAPHVIZ_TRIES: Final = 2000
PAUSE_S: Final = 0.005
FLAGS: Final = ("--single-threaded", "--max-semi-space-size=8")


class Engine:
    """PlantUML's engine, loaded."""

    def __init__(self, start: Start) -> None:
        from py_mini_racer import MiniRacer, init_mini_racer

        init_mini_racer(flags=FLAGS, ignore_duplicate_init=True)
        self._context = MiniRacer()
        self._drawing = start.drawing
        self._scripts = start.scripts
        self._covered: frozenset[int] = frozenset()
        self._run(_read(start.shim))
        self._run(fonts_script(start.fonts))
        self._run(_read(os.path.join(start.scripts, "viz-global.js")))
        self._run("signet.startGraphviz()")
        self._run(as_script(_read(os.path.join(start.scripts, "plantuml.js"))))
        for _ in range(GRAPHVIZ_TRIES):
            if self._run("signet.keepGraphviz()"):
                break
            time.sleep(PAUSE_S)
        # The first picture takes ten times as long as the next: it does not count as anybody's time.
        self._run("signet.warm()")

    def follow(self, order: Order) -> Answer:
        """Return what came of an order."""
        from py_mini_racer import JSTimeoutException

        if order.to_png:
            return Answer(png=self._draw(order))
        call = f"signet.render({json.dumps(order.text)}, {json.dumps(order.dark)})"
        try:
            answer = json.loads(self._run(call, order.timeout_s))
            while wanted := [name for name in LIBRARIES if name in answer["wanted"]]:
                self._load(wanted)
                answer = json.loads(self._run(call, order.timeout_s))
        except JSTimeoutException:
            return Answer(too_slow=True)
        return Answer(svg=answer.get("svg", ""), error=answer.get("error", ""))

    def _load(self, names: list[str]) -> None:
        """Load libraries that a diagram has asked for."""
        for name in names:
            path = os.path.join(self._scripts, name)
            self._run(_read(path))
            self._run(f"signet.loaded({json.dumps(name)})")

    def _draw(self, order: Order) -> bytes:
        import resvg_py

        picture = resvg_py.svg_to_bytes(
            svg_string=order.text,
            background=order.background or None,
            zoom=order.to_png,
            font_files=self._drawing,
            font_family="DejaVu Sans",
            sans_serif_family="DejaVu Sans",
            monospace_family="DejaVu Sans Mono",
            # It takes time to look at all of them, and most diagrams need none.
            skip_system_fonts=self._covers(order.text),
        )
        return bytes(picture)

    def _covers(self, text: str) -> bool:
        """Return whether our fonts have every character of a text."""
        if not self._covered:
            self._covered = frozenset().union(*(read_widths(_read_bytes(font))["widths"] for font in self._drawing))
        return all(ord(char) in self._covered for char in set(text) if char > " ")

    def _run(self, script: str, timeout_s: float = LOAD_S) -> Any:
        return self._context.eval(script, timeout_sec=timeout_s)


def _read(path: str) -> str:
    return _read_bytes(path).decode()


def _read_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _receive(stream: BinaryIO) -> Start | Order | Answer | None:
    """Return the next message; None at the end of the input."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    return unpack(stream.read(length_of(head)))


def _end_with_parent() -> None:
    """End the process, whatever it is doing, when nobody can write to its input any more."""
    poll = select.poll()
    poll.register(sys.stdin.fileno(), 0)
    # No event is asked for: it waits for the other end to be closed.
    poll.poll()
    os._exit(0)


def main() -> None:
    """Answer orders until the input ends."""
    try:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        _answer()
    finally:
        # V8's threads may still be busy with what took too long: Python would wait for them.
        os._exit(0)


def _answer() -> None:
    given, taken = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever a library prints is no message.
    os.dup2(2, 1)
    start = _receive(given)
    if not isinstance(start, Start):
        return
    engine = Engine(start)
    taken.write(pack(Answer(svg="ready")))
    taken.flush()
    while isinstance(order := _receive(given), Order):
        answer = engine.follow(order)
        taken.write(pack(answer))
        taken.flush()
        if answer.too_slow:
            break
    taken.close()
