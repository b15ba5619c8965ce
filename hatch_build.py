"""Packs the files of the diagram engine into a wheel, with their licences, where npm has fetched them."""

from __future__ import annotations

import os
import runpy
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EngineFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Adds files of `node_modules` to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, all or none; an editable installation reads them where they are."""
        if self.target_name != "wheel" or version == "editable":
            return
        assets = runpy.run_path(os.path.join(self.root, "src/signet/engines/assets.py"))
        packed = "signet/engines/packed"
        included = build_data["force_include"]
        for name in assets["PINS"]:
            included[os.path.join(self.root, name)] = f"{packed}/{name}"
        sources = {name: os.path.join(self.root, "node_modules", name) for name in assets["packed_files"]()}
        if all(map(os.path.isfile, sources.values())):
            included |= {path: f"{packed}/{name}" for name, path in sources.items()}
            self.app.display_info("the files of the diagram engine are packed")
        else:
            self.app.display_warning("no files of the diagram engine: run npm ci before the build to pack them")
