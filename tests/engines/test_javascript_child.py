"""The child of the JavaScript engine ends when its parent does, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from system.test_piped_process import FAR_S, is_running, python

SLOW = (
    '@startuml\n!$s = "abcdefgh"\n!$i = 0\n!while $i < 22\n!$s = $s + $s\n!$i = $i + 1\n!endwhile\nA -> B: $s\n@enduml'
)
PARENT = f"""
import asyncio, sys, threading, time
sys.path[:] = {sys.path!r}
from signet.engines.assets import find_assets
from signet.engines.javascript import JavaScript
from signet.engines.renderer import Limits
engine = JavaScript(find_assets(), Limits(timeout_s=SECONDS, memory_mb=1500, processes=1))
def tell():
    while not engine._pool._busy: time.sleep(0.01)
    print(next(iter(engine._pool._busy)).pid, flush=True)
async def main():
    await engine.draw("@startuml\\nA -> B\\n@enduml", "svg", dark=False)
    threading.Thread(target=tell, daemon=True).start()
    await engine.draw({SLOW!r}, "svg", dark=False)
asyncio.run(main())
"""


@pytest.mark.parametrize("seconds", ["3", "600"])
def test_it_ends_with_a_parent_that_is_killed_during_a_slow_diagram(tmp_path: Path, seconds: str) -> None:
    """It ends at once, and also after the time of its diagram is over: V8 is busy then, and waits for nobody."""
    script = PARENT.replace("SECONDS", seconds)
    with subprocess.Popen(python(script), stdout=subprocess.PIPE, cwd=tmp_path, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)
        os.kill(parent.pid, signal.SIGKILL)

    limit = time.monotonic() + FAR_S
    try:
        while is_running(child) and time.monotonic() < limit:
            time.sleep(0.05)
        assert not is_running(child)
    finally:
        if is_running(child):
            os.kill(child, signal.SIGKILL)
