"""The JavaScript engine: PlantUML compiled to JavaScript, in V8, in child processes. It needs neither Java nor Node."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from functools import partial
from importlib.util import find_spec
from typing import Final

from signet.system.advice import advise
from signet.system.piped_process import ChildEndedError, KillHandle, PipedProcess
from signet.system.processes import ProcessLimits

from .assets import HERE, Assets
from .frames import LENGTH_BYTES, Answer, Order, Start, length_of, pack, unpack
from .picture import DARK, LIGHT, DiagramError, find_error, frame, is_unsupported, size_of
from .places import DrawingPlaces
from .pool import Pool
from .renderer import MAX_PICTURE_BYTES, Form, Limits, failed, too_heavy, too_large, too_slow

__all__ = ["JavaScript", "missing_modules"]

START_S: Final = 60.0
"""How long a child may take to load the engine."""
GRACE_S: Final = 2.0
"""How long the child may take beyond its own time limit before it is killed."""
MAX_PIXELS: Final = 40_000_000
ZOOM: Final = 2
"""The pixels of a PNG for each pixel of the SVG, in both directions: on most screens of today one is too coarse."""
UNSUPPORTED: Final = "Unsupported diagram type"
EMBEDDED: Final = re.compile(r"@startuml[^\n]*\n(?:[ \t]*(?:'[^\n]*)?\n)*[ \t]*(?:salt|ditaa)\b")
"""A diagram of another kind below `@startuml`, behind empty lines and comments."""
_LACKING: Final = DiagramError("this kind of diagram is not in the JavaScript engine", unsupported=True)
LAUNCH: Final = "import sys; sys.path[:] = sys.argv[1:]; from signet.engines.javascript_child import main; main()"
MODULES: Final = {"py_mini_racer": "mini-racer", "resvg_py": "resvg_py"}


def missing_modules() -> list[str]:
    """Return the packages of the extra `diagrams` that are not installed."""
    return [package for module, package in MODULES.items() if find_spec(module) is None]


class JavaScript:
    """PlantUML in V8."""

    name = "JavaScript"
    forms: tuple[Form, ...] = ("svg", "png")
    draws_dark = True

    def __init__(self, assets: Assets, limits: Limits) -> None:
        self._assets = assets
        self._limits = limits
        self._pool = Pool(self._start, limits.idle_s)
        self._places = DrawingPlaces(limits.processes, "signet-javascript")

    async def draw(self, source: str, form: Form, *, dark: bool) -> bytes | DiagramError:
        """Return the picture of a diagram, or what is wrong with it."""
        work = partial(self._draw, source, form, dark=dark)
        return await self._places.run(partial(self._use, work))

    async def close(self) -> None:
        """Kill the children."""
        await asyncio.get_running_loop().run_in_executor(None, self._pool.close)

    def _start(self, folder: str) -> PipedProcess:
        # In isolated mode Python reads no variable and no file of the folder; the way to the packages is our own.
        command = [sys.executable, "-I", "-X", "utf8", "-c", LAUNCH, *sys.path]
        return PipedProcess(command, {}, cwd=folder, limits=ProcessLimits(self._limits.memory_mb << 20))

    def _use(self, work: partial[bytes | DiagramError], hold: KillHandle) -> bytes | DiagramError:
        try:
            return self._pool.use(work, hold)
        except TimeoutError:
            raise too_slow(self._limits) from None
        except ChildEndedError:
            raise too_heavy(self._limits) from None
        except ValueError:
            raise too_large("svg", "make the diagram smaller") from None

    def _draw(self, source: str, form: Form, child: PipedProcess, *, dark: bool) -> bytes | DiagramError:
        if child.uses == 1:
            self._greet(child)
        answer = self._order(child, Order(source, self._limits.timeout_s, dark))
        if answer.error:
            return DiagramError(_plain(answer.error), unsupported=UNSUPPORTED in answer.error)
        if is_unsupported(answer.svg):
            return _LACKING
        error = find_error(answer.svg)
        if error is not None:
            return _LACKING if EMBEDDED.match(source) else error
        svg = frame(answer.svg, dark=dark)
        picture = svg.encode() if form == "svg" else self._to_png(child, svg, dark=dark)
        if len(picture) > MAX_PICTURE_BYTES:
            raise too_large(form, "make the diagram smaller")
        return picture

    def _to_png(self, child: PipedProcess, svg: str, *, dark: bool) -> bytes:
        size = size_of(svg)
        if size.width * size.height > MAX_PIXELS:
            raise too_large("png", f"it has {size.width} x {size.height} pixels; ask for svg")
        zoom = ZOOM if size.width * size.height * ZOOM * ZOOM <= MAX_PIXELS else 1
        order = Order(svg, self._limits.timeout_s, to_png=zoom, background=DARK if dark else LIGHT)
        return self._order(child, order).png

    def _greet(self, child: PipedProcess) -> None:
        """Tell a new child where its files are, and wait until it is ready."""
        deadline = time.monotonic() + START_S
        start = Start(os.path.join(HERE, "shim.js"), self._assets.scripts, self._assets.faces, self._assets.drawing)
        try:
            child.write(pack(start), deadline)
            _receive(child, deadline)
        except (TimeoutError, ChildEndedError):
            raise failed(
                f"the JavaScript engine does not start: {advise('doctor', here=False)} shows what it lacks"
            ) from None

    def _order(self, child: PipedProcess, order: Order) -> Answer:
        deadline = time.monotonic() + self._limits.timeout_s + GRACE_S
        child.write(pack(order), deadline)
        answer = _receive(child, deadline)
        if answer.too_slow:
            raise TimeoutError
        return answer


def _receive(child: PipedProcess, deadline: float) -> Answer:
    message = unpack(child.read(length_of(child.read(LENGTH_BYTES, deadline)), deadline))
    if not isinstance(message, Answer):
        raise ChildEndedError
    return message


def _plain(error: str) -> str:
    """Return what the engine says, without the name of a Java class."""
    words = error.strip().splitlines()[0][:300] if error.strip() else "the engine gave no reason"
    return words.removeprefix("java.lang.").removeprefix("Error: ")
