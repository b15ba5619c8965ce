"""Packs into a wheel what is elsewhere: the diagram engine, if npm has fetched it; the last contract set."""

from __future__ import annotations

import os
import runpy
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackedFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Adds files of `node_modules` and `contracts` to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files; an editable installation reads them where they are."""
        if self.target_name != "wheel" or version == "editable":
            return
        self._add_contracts(build_data["force_include"])
        self._add_engine(build_data["force_include"])

    def _add_contracts(self, included: dict[str, str]) -> None:
        """Add the contract set of the last tagged release."""
        tagged = runpy.run_path(os.path.join(self.root, "src/signet/console/tagged.py"))
        version, folder = tagged["last_tagged"](os.path.join(self.root, "contracts"))
        included[folder] = f"signet/console/tagged/{version}"

    def _add_engine(self, included: dict[str, str]) -> None:
        """Add the files of the diagram engine with their licences, all or none."""
        assets = runpy.run_path(os.path.join(self.root, "src/signet/engines/assets.py"))
        packed = "signet/engines/packed"
        for name in assets["PINS"]:
            included[os.path.join(self.root, name)] = f"{packed}/{name}"
        sources = {name: os.path.join(self.root, "node_modules", name) for name in assets["packed_files"]()}
        if all(map(os.path.isfile, sources.values())):
            included |= {path: f"{packed}/{name}" for name, path in sources.items()}
            self.app.display_info("the files of the diagram engine are packed")
        else:
            self.app.display_warning("no files of the diagram engine: run npm ci before the build to pack them")
