"""The dependencies: locked with hashes, listed in a bill of materials, looked up in databases of vulnerabilities."""

from __future__ import annotations

import base64
import contextlib
import importlib.metadata
import json
import re
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from pip_lock_files import locked
from processes import BIN, ROOT, clean_env
from signet.engines.assets import packed_files

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NOWHERE = "http://127.0.0.1:9"
"""The discard port, on which nobody listens."""


def make(target: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a target of the Makefile with the Python of these tests, without installing anything."""
    command = ["make", "--no-print-directory", "-o", ".venv/.installed-for-test", f"BIN={BIN}", target]
    # The flags of a `make test` that runs these tests are not meant for this one.
    own = {name: value for name, value in clean_env(env).items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(command, cwd=ROOT, env=own, capture_output=True, encoding="utf-8", check=False)


# --- hashes -----------------------------------------------------------------------------------


def test_there_is_a_lock_file_for_each_environment() -> None:
    names = ["bench-mcp-proxy", "bench", "build", "deploy", "run", "servers-older", "servers", "test"]

    assert [path.name for path in LOCKS] == [f"{name}.txt" for name in names]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_locked_requirement_has_a_hash_and_no_index_is_named(path: Path) -> None:
    requirements = locked(path)

    unhashed = [
        requirement.name
        for requirement in requirements
        if not requirement.hashes or not all(re.fullmatch("sha256:[0-9a-f]{64}", text) for text in requirement.hashes)
    ]
    assert requirements != []
    assert unhashed == []
    assert "://" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("lock", ["package-lock.json", "tests/wrap/npm/package-lock.json"])
def test_every_npm_package_has_its_integrity_and_no_host(lock: str) -> None:
    packages = json.loads((ROOT / lock).read_text(encoding="utf-8"))["packages"]
    del packages[""]

    wrong = [
        path
        for path, entry in packages.items()
        if "resolved" in entry or not entry.get("integrity", "").startswith("sha512-")
    ]
    assert packages != {}
    assert wrong == []


def test_make_installs_packages_by_hash_only() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    installs = re.findall(r"\$\(PIP\) (.+)", makefile)

    assert [line for line in installs if not line.startswith(("--require-hashes -r ", "$(LOCAL) "))] == []
    assert "LOCAL   := --no-deps --no-build-isolation\n" in makefile


# --- bill of materials ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    done = make("sbom")
    assert done.returncode == 0, done.stderr
    return json.loads((ROOT / "build/sbom.cdx.json").read_text(encoding="utf-8"))


def test_the_bill_of_materials_keeps_the_schema_of_cyclonedx(bill: dict[str, Any]) -> None:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))

    assert error is None


def of_kind(bill: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [component for component in bill["components"] if component["purl"].startswith(f"pkg:{kind}/")]


def test_the_bill_of_materials_lists_every_locked_dependency_with_its_hashes(bill: dict[str, Any]) -> None:
    """Those of the image are those of `deploy.txt`."""
    components = {
        component["purl"]: {f"sha256:{entry['content']}" for entry in component["externalReferences"][0]["hashes"]}
        for component in of_kind(bill, "pypi")
    }

    assert components == {
        f"pkg:pypi/{requirement.name}@{requirement.version}": set(requirement.hashes)
        for name in ("run", "deploy")
        for requirement in locked(ROOT / f"requirements/{name}.txt")
    }


def test_each_component_says_which_list_names_it(bill: dict[str, Any]) -> None:
    lists = {
        component["name"]: [one["value"] for one in component["properties"] if one["name"] == "signet:lock"]
        for component in bill["components"]
    }

    for name in ("run", "deploy"):
        path = f"requirements/{name}.txt"
        assert {one for one, paths in lists.items() if path in paths} == {one.name for one in locked(ROOT / path)}
    assert lists["cryptography"] == ["requirements/deploy.txt"]
    assert lists["@plantuml/core"] == ["package-lock.json"]


def test_the_bill_of_materials_lists_the_npm_packages_of_which_a_wheel_has_files(bill: dict[str, Any]) -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]

    listed = {component["name"]: component for component in of_kind(bill, "npm")}

    assert {name: one["version"] for name, one in listed.items()} == wanted
    for name, one in listed.items():
        (entry,) = one["externalReferences"][0]["hashes"]
        assert base64.b64encode(bytes.fromhex(entry["content"])).decode() == (
            packages[f"node_modules/{name}"]["integrity"].removeprefix("sha512-")
        )
    inside = {one["name"] for one in listed["@plantuml/core"]["components"]}
    assert {"Graphviz", "Twemoji", "Open Iconic", "Viz.js"} <= inside


# --- licences ---------------------------------------------------------------------------------

TABLE = tomllib.loads((ROOT / "requirements/licences.toml").read_text(encoding="utf-8"))
WORDS = {"Apache": "Apache-2.0", "MIT": "MIT", "MPL": "MPL-2.0", "PSF": "PSF-2.0", "Python": "PSF-2.0",
         "3-Clause BSD": "BSD-3-Clause"}  # fmt: skip


def test_each_component_has_a_licence(bill: dict[str, Any]) -> None:
    inside = [one for component in bill["components"] for one in component.get("components", ())]

    assert [one["name"] for one in [*bill["components"], *inside] if not one["licenses"]] == []


def test_the_table_of_licences_has_the_packages_of_the_lists_and_no_others() -> None:
    names = {one.name for name in ("run", "deploy") for one in locked(ROOT / f"requirements/{name}.txt")}
    dependencies = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]

    assert TABLE["pypi"].keys() == names
    assert TABLE["npm"].keys() == dependencies.keys()
    assert {one["file"] for one in TABLE["contained"]} <= set(packed_files())


def test_the_table_of_licences_agrees_with_the_metadata_of_the_packages() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wrong = []
    for name, licence in TABLE["pypi"].items():
        try:
            metadata = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        stated = metadata["License-Expression"]
        kinds = metadata.get_all("Classifier") or []
        text = " ".join([metadata["License"] or "", *[one for one in kinds if one.startswith("License ::")]])
        found = {spdx for word, spdx in WORDS.items() if word in text}
        if licence != stated and (stated or found != set(licence.split(" OR "))):
            wrong.append((name, licence, stated, found))
    for name, licence in TABLE["npm"].items():
        stated = packages[f"node_modules/{name}"]["license"]
        if licence != stated and not stated.startswith("SEE LICENSE"):
            wrong.append((name, licence, stated, set()))

    assert wrong == []


def test_a_package_without_a_licence_in_the_table_has_no_bill(tmp_path: Path) -> None:
    """Who locks another package is told to look its licence up."""
    for name in ("scripts/sbom.py", "requirements/deploy.txt", "requirements/run.txt", "package-lock.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    text = (ROOT / "requirements/licences.toml").read_text(encoding="utf-8")
    (tmp_path / "requirements/licences.toml").write_text(text.replace('redis = "MIT"\n', ""), encoding="utf-8")

    done = subprocess.run(
        [BIN / "python", tmp_path / "scripts/sbom.py", tmp_path / "bill.json"],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "requirements/licences.toml has no licence of redis" in done.stderr
    assert not (tmp_path / "bill.json").exists()


def test_the_page_on_the_software_of_others_speaks_of_all_that_a_wheel_has() -> None:
    page = (ROOT / "src/signet/engines/THIRD-PARTY.md").read_text(encoding="utf-8")

    names = [Path(name).name for name in packed_files() if name.endswith((".js", ".ttf"))]
    untold = [one for one in (*names, *[one["name"] for one in TABLE["contained"]], *TABLE["npm"]) if one not in page]

    assert len(names) > 8
    assert untold == []
    assert [one["licence"] for one in TABLE["contained"] if one["licence"] not in page] == []


def test_the_bill_of_materials_says_which_dependency_needs_which(bill: dict[str, Any]) -> None:
    names = {
        entry["ref"].partition("@")[0]: [ref.partition("@")[0] for ref in entry["dependsOn"]]
        for entry in bill["dependencies"]
    }

    assert bill["metadata"]["component"]["name"] == "signet-mcp"
    assert {"pkg:pypi/aiohttp", "pkg:pypi/httptools", "pkg:pypi/msgspec"} <= set(names["pkg:pypi/signet-mcp"])
    assert names["pkg:pypi/markdown-it-py"] == ["pkg:pypi/mdurl"]
    assert len(names) == len(bill["components"]) + 1


def test_a_bill_of_materials_that_is_made_again_is_the_same(bill: dict[str, Any], tmp_path: Path) -> None:
    again = tmp_path / "sbom.json"

    subprocess.run([BIN / "python", ROOT / "scripts/sbom.py", again], capture_output=True, check=True)

    assert json.loads(again.read_text(encoding="utf-8")) == bill


# --- audit ------------------------------------------------------------------------------------

Respond = Callable[[str, bytes], object]


@contextlib.contextmanager
def database(respond: Respond) -> Iterator[str]:
    """Serve a database of vulnerabilities on loopback: OSV at /osv, the registry of npm below /."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self._send(200, respond(self.path, body))

        def do_GET(self) -> None:
            self._send(404, {})

        def _send(self, status: int, value: object) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def audit_at(url: str) -> subprocess.CompletedProcess[str]:
    """Run the audit with both databases at a URL, past any proxy."""
    direct = {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    return make("audit", {"PIP_AUDIT_OSV_URL": f"{url}/osv", "npm_config_registry": url, **direct})


def nothing_known(path: str, body: bytes) -> object:
    return {}


def rich_is_vulnerable(path: str, body: bytes) -> object:
    if path != "/osv" or json.loads(body)["package"]["name"] != "rich":
        return {}
    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]}]
    affected = [{"package": {"name": "rich", "ecosystem": "PyPI"}, "ranges": ranges}]
    return {"vulns": [{"id": "PYSEC-0000-1", "affected": affected}]}


def zod_is_vulnerable(path: str, body: bytes) -> object:
    advisory = {"id": 1, "url": "https://example.com/1", "title": "t", "severity": "high", "vulnerable_versions": "*"}
    return {"zod": [advisory]} if path.endswith("/advisories/bulk") else {}


def test_an_audit_without_network_says_that_nothing_was_checked_and_succeeds() -> None:
    proxies = dict.fromkeys(
        ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "npm_config_https_proxy"), NOWHERE
    )

    done = make("audit", {**proxies, "no_proxy": "", "NO_PROXY": ""})

    python_line, npm_line = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert python_line.startswith(
        "pip-audit: NOTHING WAS CHECKED in requirements/run.txt: the database cannot be reached ("
    )
    assert npm_line.startswith("npm audit: NOTHING WAS CHECKED in package-lock.json: the database cannot be reached (")


def test_an_audit_that_finds_nothing_says_how_many_packages_it_checked() -> None:
    with database(nothing_known) as url:
        done = audit_at(url)

    npm_count = len(json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]) - 1
    python_line, npm_line = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"pip-audit: \d\d packages in requirements/run.txt, no known vulnerability", python_line)
    assert npm_line == f"npm audit: {npm_count} packages in package-lock.json, no known vulnerability"


def test_an_audit_that_finds_a_vulnerable_python_package_fails_and_names_it() -> None:
    (rich,) = [pin for pin in locked(ROOT / "requirements/run.txt") if pin.name == "rich"]

    with database(rich_is_vulnerable) as url:
        done = audit_at(url)

    assert done.returncode != 0
    assert f"  rich {rich.version}: PYSEC-0000-1, fixed in ['99.1']" in done.stdout.splitlines()


def test_an_audit_that_finds_a_vulnerable_npm_package_fails_and_names_it() -> None:
    with database(zod_is_vulnerable) as url:
        done = audit_at(url)

    assert done.returncode != 0
    assert "  zod: high (https://example.com/1)" in done.stdout.splitlines()
    assert "no known vulnerability" in done.stdout.splitlines()[0]


def test_an_auditor_that_fails_is_not_taken_for_a_database_that_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/audit.py").write_bytes((ROOT / "scripts/audit.py").read_bytes())
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/run.txt").write_text("rich==8.1.0\n")
    command = [BIN / "python", tmp_path / "scripts/audit.py"]

    done = subprocess.run(command, env=clean_env(), capture_output=True, encoding="utf-8", check=False)

    assert done.returncode == 1
    assert "pip-audit: failed on requirements/run.txt: " in done.stdout
    assert "npm audit: failed on package-lock.json: " in done.stdout
