"""Write the software bill of materials (CycloneDX 1.6, JSON) of the locked dependencies.

It is made from requirements/run.txt alone, so that equal lock files give equal bills: no time, no random number, no
network. A component carries the hashes of all files of its release in its external reference of type `distribution`:
which of them is installed depends on the platform.

    python scripts/sbom.py [FILE]      default: build/sbom.cdx.json
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from signet import __version__

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements/run.txt"
PIN = re.compile(r"(?P<name>\S+)==(?P<version>\S+)(?: ; (?P<marker>.+?))? \\")
HASH = re.compile(r"    --hash=sha256:([0-9a-f]{64})(?: \\)?")
VIA = re.compile(r"    #   (\S+).*|    # via (\S+).*")


class Pin(NamedTuple):
    """One locked dependency."""

    name: str
    version: str
    marker: str
    hashes: list[str]
    needed_by: list[str]

    @property
    def purl(self) -> str:
        """Return the package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str) -> list[Pin]:
    """Return the dependencies of a lock file.

    Raises:
        ValueError: the file has a line of another form.
    """
    pins: list[Pin] = []
    for line in text.splitlines():
        if match := PIN.fullmatch(line):
            pins.append(Pin(match["name"], match["version"], match["marker"] or "", [], []))
        elif match := HASH.fullmatch(line):
            pins[-1].hashes.append(match[1])
        elif match := VIA.fullmatch(line):
            pins[-1].needed_by.append(match[1] or match[2])
        elif line != "    # via":
            message = f"cannot read this line of the lock file: {line}"
            raise ValueError(message)
    return pins


def component(pin: Pin) -> dict[str, Any]:
    """Return the component of a dependency; a dependency of some platforms only is optional."""
    hashes = [{"alg": "SHA-256", "content": digest} for digest in pin.hashes]
    optional = {"scope": "optional", "properties": [{"name": "signet:python:marker", "value": pin.marker}]}
    return {
        "type": "library",
        "bom-ref": pin.purl,
        "name": pin.name,
        "version": pin.version,
        "purl": pin.purl,
        **(optional if pin.marker else {"scope": "required"}),
        "externalReferences": [{"type": "distribution", "url": pin.purl, "hashes": hashes}],
    }


def bill(pins: list[Pin], product: Pin) -> dict[str, Any]:
    """Return the bill of materials of a product and its dependencies."""
    nodes = [product, *pins]
    dependencies = [
        {"ref": node.purl, "dependsOn": [pin.purl for pin in pins if node.name in pin.needed_by]} for node in nodes
    ]
    root = {"type": "application", "bom-ref": product.purl, "name": product.name, "version": product.version}
    licence = {"licenses": [{"license": {"id": "MIT"}}], "purl": product.purl}
    content = {
        "metadata": {"component": root | licence},
        "components": [component(pin) for pin in pins],
        "dependencies": dependencies,
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        **content,
    }


def main() -> None:
    """Write the bill of materials."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/sbom.cdx.json"
    pins = read_lock(LOCK.read_text(encoding="utf-8"))
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(bill(pins, Pin("signet-mcp", __version__, "", [], [])), indent=2)
    target.write_text(f"{text}\n", encoding="utf-8")
    print(f"{target}: {len(pins)} dependencies")


if __name__ == "__main__":
    main()
