"""Draw docs/images/boj-plot.png: two series of the embedded sample data, as `signet boj plot` draws them."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

from signet.commands.cli import main

PICTURE = Path(__file__).resolve().parent.parent / "docs/images/boj-plot.png"
SERIES = ("FM09", "--codes", "FX180110001,FX180110002", "--start", "200001")


def draw(out: Path) -> int:
    """Draw it; what goes to the terminal is left out."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(io.StringIO()):
        return main(["boj", "plot", *SERIES, "--sandbox", "--out", str(out)])


if __name__ == "__main__":
    sys.exit(draw(Path(sys.argv[1]) if sys.argv[1:] else PICTURE))
