"""Keep the contracts of this version: copy the bundles of the toolsets in the box to contracts/<version>/tools.

A set that was kept is what clients rely on, so it is not written over; --replace does so while a version is not out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from signet import __version__
from signet.app import SCHEMA_ROOT
from signet.settings.catalogue import TOOLSETS, find_toolset

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Copy the bundles, or say why not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ROOT / "contracts", help="where the sets are kept (contracts)")
    parser.add_argument("--replace", action="store_true", help="write over a set of this version")
    args = parser.parse_args()

    kept = args.into / __version__
    files = [
        Path(SCHEMA_ROOT) / f"tools/{tool.slug}.json" for toolset in TOOLSETS for tool in find_toolset(toolset).tools()
    ]
    written = {file.name: file.read_bytes() for file in files}
    if kept.exists():
        there = {file.name: file.read_bytes() for file in (kept / "tools").glob("*.json")}
        if there == written:
            print(f"{kept} holds these contracts already")
            return 0
        if not args.replace:
            print(f"{kept} holds other contracts: raise the version in src/signet/__init__.py first")
            return 1
        shutil.rmtree(kept)
    (kept / "tools").mkdir(parents=True)
    for name, data in written.items():
        (kept / "tools" / name).write_bytes(data)
    print(f"{kept}: {len(written)} bundles")
    return 0


if __name__ == "__main__":
    sys.exit(main())
