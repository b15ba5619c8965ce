"""Write the software bill of materials (CycloneDX 1.6, JSON) of all that an installation may have.

    requirements/run.txt ──────┐
    requirements/deploy.txt ───┼──▶ a component for each package, with hashes, licence and the lists that name it
    package-lock.json ─────────┘      (of npm: what a wheel has, and what is in its files)
    requirements/licences.toml ─────▶ the licences

It is made from these files alone, so that equal files give equal bills: no time, no random number, no network. A
component of PyPI carries the hashes of all files of its release in its external reference of type `distribution`: which
of them is installed depends on the platform.

    python scripts/sbom.py [FILE]      default: build/sbom.cdx.json
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from signet import __version__
from signet.engines.assets import packed_files

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements/run.txt", "requirements/deploy.txt")
NPM_LOCK = "package-lock.json"
LICENCES = "requirements/licences.toml"
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
    locks: list[str]

    @property
    def purl(self) -> str:
        """Return the package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str, lock: str = "") -> list[Pin]:
    """Return the dependencies of a lock file.

    Raises:
        ValueError: the file has a line of another form.
    """
    pins: list[Pin] = []
    for line in text.splitlines():
        if match := PIN.fullmatch(line):
            pins.append(Pin(match["name"], match["version"], match["marker"] or "", [], [], [lock]))
        elif match := HASH.fullmatch(line):
            pins[-1].hashes.append(match[1])
        elif match := VIA.fullmatch(line):
            # An extra of a package needs what the package with this extra needs.
            pins[-1].needed_by.append((match[1] or match[2]).partition("[")[0])
        elif line != "    # via":
            message = f"cannot read this line of the lock file: {line}"
            raise ValueError(message)
    return pins


def merged(pins: list[Pin]) -> list[Pin]:
    """Return each release once, with all lists that name it."""
    found: dict[str, Pin] = {}
    for pin in pins:
        known = found.setdefault(pin.purl, pin)
        if known is not pin:
            known.locks.extend(pin.locks)
            known.needed_by.extend(name for name in pin.needed_by if name not in known.needed_by)
            known.hashes.extend(digest for digest in pin.hashes if digest not in known.hashes)
            # Where one list needs it everywhere, it is needed everywhere.
            found[pin.purl] = known if known.marker == pin.marker else known._replace(marker="")
    return sorted(found.values())


def licences_of(expression: str) -> list[dict[str, Any]]:
    """Return a licence in CycloneDX's form: an SPDX id, or an expression of several."""
    return [{"expression": expression}] if " " in expression else [{"license": {"id": expression}}]


def licence_of(table: dict[str, str], name: str) -> list[dict[str, Any]]:
    """Return the licence of a package; raise ValueError where the table has none."""
    if name not in table:
        message = f"{LICENCES} has no licence of {name}: read it in the package's metadata, and write it there"
        raise ValueError(message)
    return licences_of(table[name])


def component(pin: Pin, licences: dict[str, str]) -> dict[str, Any]:
    """Return the component of a package of PyPI; optional is what only some platforms or extras need."""
    properties = [{"name": "signet:lock", "value": lock} for lock in pin.locks]
    if pin.marker:
        properties.append({"name": "signet:python:marker", "value": pin.marker})
    return {
        "type": "library",
        "bom-ref": pin.purl,
        "name": pin.name,
        "version": pin.version,
        "purl": pin.purl,
        "scope": "required" if not pin.marker and LOCKS[0] in pin.locks else "optional",
        "licenses": licence_of(licences, pin.name),
        "properties": properties,
        "externalReferences": [
            {
                "type": "distribution",
                "url": pin.purl,
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in pin.hashes],
            }
        ],
    }


def npm_packages() -> list[str]:
    """Return the names of the npm packages of which a wheel has files."""
    parts = [name.split("/") for name in packed_files()]
    return sorted({"/".join(path[:2] if path[0].startswith("@") else path[:1]) for path in parts})


def npm_component(name: str, locked: dict[str, str], table: dict[str, Any]) -> dict[str, Any]:
    """Return the component of an npm package, with what is in its files."""
    purl = f"pkg:npm/{name.replace('@', '%40')}@{locked['version']}"
    digest = base64.b64decode(locked["integrity"].removeprefix("sha512-")).hex()
    inside = [_contained(one, purl) for one in table["contained"] if one["file"].startswith(f"{name}/")]
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": locked["version"],
        "purl": purl,
        "scope": "optional",
        "licenses": licence_of(table["npm"], name),
        "properties": [{"name": "signet:lock", "value": NPM_LOCK}],
        "externalReferences": [
            {"type": "distribution", "url": purl, "hashes": [{"alg": "SHA-512", "content": digest}]}
        ],
        **({"components": inside} if inside else {}),
    }


def _contained(one: dict[str, str], purl: str) -> dict[str, Any]:
    """Return the component of what a file contains."""
    return {
        "type": "library",
        "bom-ref": f"{purl}#{one['file']}:{one['name']}",
        "name": one["name"],
        **({"version": one["version"]} if "version" in one else {}),
        "licenses": licences_of(one["licence"]),
        "properties": [{"name": "signet:file", "value": one["file"]}],
        "externalReferences": [{"type": "website", "url": one["url"]}],
    }


def bill(pins: list[Pin], npm: list[dict[str, Any]], product: Pin, licences: dict[str, str]) -> dict[str, Any]:
    """Return the bill of materials of a product and its dependencies."""
    names = {node.name: node.purl for node in (product, *pins)}
    needed = {ref: [pin.purl for pin in pins if name in pin.needed_by] for name, ref in names.items()}
    needed[product.purl] += [one["bom-ref"] for one in npm]
    needed |= {one["bom-ref"]: [] for one in npm}
    root = {"type": "application", "bom-ref": product.purl, "name": product.name, "version": product.version}
    content = {
        "metadata": {"component": root | {"licenses": licences_of("MIT"), "purl": product.purl}},
        "components": [*[component(pin, licences) for pin in pins], *npm],
        "dependencies": [{"ref": ref, "dependsOn": refs} for ref, refs in needed.items()],
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
    table = tomllib.loads((ROOT / LICENCES).read_text(encoding="utf-8"))
    pins = merged([pin for lock in LOCKS for pin in read_lock((ROOT / lock).read_text(encoding="utf-8"), lock)])
    locked = json.loads((ROOT / NPM_LOCK).read_text(encoding="utf-8"))["packages"]
    npm = [npm_component(name, locked[f"node_modules/{name}"], table) for name in npm_packages()]
    product = Pin("signet-mcp", __version__, "", [], [], [])
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(bill(pins, npm, product, table["pypi"]), indent=2)
    target.write_text(f"{text}\n", encoding="utf-8")
    print(f"{target}: {len(pins)} packages of PyPI, {len(npm)} of npm")


if __name__ == "__main__":
    main()
