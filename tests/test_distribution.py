"""The built distributions: their contents, and the demo calls in environments that hold nothing of the checkout."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import pytest

from pip_lock_files import locked
from processes import PATIENCE_S, ROOT, Reply, Server, clean_env, serving_command

Run = Callable[..., str]


PACKED = "signet/engines/packed"
PINS = {f"{PACKED}/package.json", f"{PACKED}/package-lock.json"}
"""What npm fetches, with versions and hashes: for `signet diagrams install`."""
ENGINE_FILES = {
    f"{PACKED}/{name}"
    for name in (
        *(f"@plantuml/core/{name}.js" for name in ("plantuml", "viz-global", "themes", "openiconic", "emoji")),
        *(f"dejavu-fonts-ttf/ttf/DejaVuSans{face}.ttf" for face in ("", "-Bold", "-Oblique", "Mono", "Mono-Bold")),
        "@expo-google-fonts/sawarabi-gothic/400Regular/SawarabiGothic_400Regular.ttf",
        "@plantuml/core/LICENSE",
        "@plantuml/core/package.json",
        "dejavu-fonts-ttf/LICENSE",
        "@expo-google-fonts/sawarabi-gothic/LICENSE_FONT",
    )
}
"""The files of the diagram engine with their licences: npm has fetched them in the checkout, not in the sdist."""


UNREACHABLE = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
"""Variables by which a request that leaves this machine fails."""


class Builds(NamedTuple):
    """The files that were built once for this module."""

    sdist: Path
    wheel: Path
    wheel_from_sdist: Path


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """Build a source distribution and a wheel from the checkout, and a wheel from the source distribution."""
    first, second = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("rebuilt")
    _python("-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(first), cwd=ROOT)
    (sdist,) = first.glob("*.tar.gz")
    offline = ("-q", "--no-cache-dir", "--no-index", "--no-deps", "--no-build-isolation")
    _python("-m", "pip", "wheel", *offline, "-w", str(second), str(sdist))
    (wheel,), (wheel_from_sdist,) = first.glob("*.whl"), second.glob("*.whl")
    return Builds(sdist, wheel, wheel_from_sdist)


@pytest.fixture(scope="module", params=["wheel", "wheel_from_sdist"])
def installed(request: pytest.FixtureRequest, builds: Builds, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Install a wheel beside its locked dependencies, and return a function that runs one of its commands."""
    folder = tmp_path_factory.mktemp(request.param)
    python = folder / "env/bin/python"
    _python("-m", "venv", "--without-pip", str(folder / "env"))
    (site_packages,) = folder.glob("env/lib/python*/site-packages")
    _link_dependencies(site_packages)
    pip = ("-m", "pip", "--python", str(python))
    _python(
        *pip,
        "install",
        "-q",
        "--no-cache-dir",
        "--no-compile",
        "--no-deps",
        "--no-index",
        str(getattr(builds, request.param)),
    )
    _python(*pip, "check")

    def run(*command: str, stdin: str = "") -> str:
        done = subprocess.run(
            [python.parent / command[0], *command[1:]],
            input=stdin,
            cwd=folder,
            env=_env(),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def served(builds: Builds, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve sample data from the wheel, in an environment that holds nothing but the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("served")
    _python("-m", "venv", "--without-pip", str(folder / "env"))
    (site_packages,) = folder.glob("env/lib/python*/site-packages")
    _link_dependencies(site_packages)
    with zipfile.ZipFile(builds.wheel) as archive:
        archive.extractall(site_packages)
    command = (str(folder / "env/bin/python"), "-I", "-m", "signet", "serve", "--port", "0", "--sandbox")
    with serving_command(*command, "--log-dir", str(folder / "runs"), env=UNREACHABLE) as server:
        yield server


def _python(*arguments: str, cwd: Path | None = None) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, env=_env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _env() -> dict[str, str]:
    """Return an environment in which no variable leads to the checkout."""
    return {name: value for name, value in clean_env().items() if not name.startswith(("PYTHON", "COVERAGE"))}


def _link_dependencies(site_packages: Path) -> None:
    """Link the dependencies of the lock file, and no other package, from the environment of the tests."""
    for requirement in locked(ROOT / "requirements/run.txt"):
        try:
            package = distribution(requirement.name)
        except PackageNotFoundError:
            assert requirement.marker, f"{requirement.name} is not installed"
            continue
        _link(package, site_packages)


def _link(package: Distribution, site_packages: Path) -> None:
    for name in {path.parts[0] for path in package.files or ()} - {"..", "__pycache__"}:
        os.symlink(package.locate_file(name), site_packages / name)


def _source_files() -> set[str]:
    """Return the files of the package as git lists them; outside a repository, as the folder holds them."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "src/signet"]
    listed = subprocess.run(command, capture_output=True, encoding="utf-8", check=False).stdout.split("\0")[:-1]
    walked = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src/signet").rglob("*") if path.is_file()]
    files = listed or [path for path in walked if "__pycache__" not in path]
    return {path.removeprefix("src/") for path in files}


def test_a_source_distribution_holds_the_package_and_its_papers_and_nothing_else(builds: Builds) -> None:
    papers = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "PKG-INFO", ".gitignore"}
    papers |= {"hatch_build.py", "package.json", "package-lock.json"}

    with tarfile.open(builds.sdist) as archive:
        members = archive.getmembers()

    top = builds.sdist.name.removesuffix(".tar.gz")
    assert {member.name for member in members} == {f"{top}/{name}" for name in papers} | {
        f"{top}/src/{name}" for name in _source_files()
    } | {f"{top}/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "contracts").rglob("*.json")}
    assert [member.name for member in members if not member.isreg()] == []


@pytest.mark.parametrize("which", ["wheel", "wheel_from_sdist"])
def test_a_wheel_holds_the_package_and_its_metadata_and_nothing_else(builds: Builds, which: str) -> None:
    metadata = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}

    with zipfile.ZipFile(getattr(builds, which)) as archive:
        names = archive.namelist()
        links = [info.filename for info in archive.infolist() if stat.S_ISLNK(info.external_attr >> 16)]

    folder = "-".join(builds.wheel.name.split("-")[:2]) + ".dist-info"
    tagged = {f"signet/console/tagged/0.1.0/tools/{path.name}" for path in (ROOT / "contracts/0.1.0/tools").iterdir()}
    packed = PINS | tagged | (ENGINE_FILES if which == "wheel" else set())
    assert sorted(names) == sorted(_source_files() | packed | {f"{folder}/{name}" for name in metadata})
    assert links == []


def test_no_file_of_the_package_is_a_link_to_another_place() -> None:
    links = [path for path in (ROOT / "src").rglob("*") if path.is_symlink()]

    assert links == []


def test_the_package_has_its_contracts_its_sample_data_and_its_type_marker(builds: Builds) -> None:
    with zipfile.ZipFile(builds.wheel_from_sdist) as archive:
        names = set(archive.namelist())

    assert {
        "signet/py.typed",
        "signet/schemas/envelope.schema.json",
        "signet/schemas/tool_io.schema.json",
        "signet/schemas/tools/plantuml.encode.json",
        "signet/toolsets/boj/sandbox/samples/FM01.json",
        "signet/toolsets/oj/sandbox/problems/leetcode-9001.html",
    } <= names


def test_a_wheel_from_the_source_distribution_is_the_wheel_from_the_checkout(builds: Builds) -> None:
    with zipfile.ZipFile(builds.wheel) as direct, zipfile.ZipFile(builds.wheel_from_sdist) as rebuilt:
        files, rebuilt_files = ({name: zipped.read(name) for name in zipped.namelist()} for zipped in (direct, rebuilt))

    assert set(files) - set(rebuilt_files) == ENGINE_FILES
    for record in (file for file in rebuilt_files if file.endswith("/RECORD")):
        del files[record]
    assert {name: files[name] for name in set(rebuilt_files) & set(files)} == {
        name: rebuilt_files[name] for name in set(rebuilt_files) & set(files)
    }


def test_the_build_backend_is_the_one_whose_hash_is_locked() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]

    pins = {f"{requirement.name}=={requirement.version}" for requirement in locked(ROOT / "requirements/build.txt")}

    assert set(required) <= pins


def test_the_installed_package_is_not_the_checkout(installed: Run) -> None:
    where = Path(installed("python", "-c", "import signet; print(signet.__file__)").strip())

    assert "site-packages" in where.parts
    assert not where.is_relative_to(ROOT)


def test_an_installed_signet_lists_its_tools(installed: Run) -> None:
    table = installed("signet", "tools", "--sandbox")

    tools = [line.split()[0] for line in table.splitlines()[1:] if not line.startswith(" ")]
    assert tools == [
        "encodePlantUML",
        "decodePlantUML",
        "checkPlantUML",
        "renderPlantUML",
        "linkPlantUML",
        "boj_get_data_code",
        "boj_get_data_layer",
        "boj_get_metadata",
        "boj_search",
        "boj_list_databases",
        "boj_get_series",
        "get_daily_challenge",
        "get_problem",
        "find_similar_problems",
        "resolve_problem",
        "get_platform_status",
        "get_samples",
    ]
    assert "encodePlantUML" in installed("signet", "tools")


def test_an_installed_signet_encodes_a_diagram(installed: Run) -> None:
    result = installed("signet", "call", "encodePlantUML", "plantumlCode=A -> B")

    assert json.loads(result) == {
        "url": "https://www.plantuml.com/plantuml/svg/SrJGjLDm0W0",
        "encoded": "SrJGjLDm0W0",
        "format": "svg",
    }


def test_an_installed_signet_reads_a_problem_of_its_sandbox(installed: Run) -> None:
    result = installed("signet", "call", "--sandbox", "get_problem", "source=leetcode", "id=9001")

    assert json.loads(result)["markdown"].startswith("# Lantern Pairs\n\n- Source: leetcode | ID: 9001 |")


def test_an_installed_signet_lists_the_series_of_its_sandbox(installed: Run) -> None:
    result = json.loads(installed("signet", "call", "--sandbox", "boj_get_metadata", "db=FM01"))

    assert (result["db"], result["entries_count"]) == ("FM01", 5)


@pytest.mark.spec("1.S1.3.version")
def test_an_installed_drop_in_of_the_judge_prints_its_version(installed: Run, builds: Builds) -> None:
    assert installed("oj-mcp-rs", "--version") == f"oj-mcp-rs {builds.wheel.name.split('-')[1]}\n"


def test_an_installed_drop_in_of_the_bank_lists_its_tools(installed: Run) -> None:
    reply = installed("boj-mcp-server", stdin='{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')

    tools = json.loads(reply)["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["boj_get_data_code", "boj_get_data_layer", "boj_get_metadata"]


def test_an_installed_wheel_with_the_extra_draws_without_java_and_without_node(builds: Builds, tmp_path: Path) -> None:
    """Nothing but the wheel, its dependencies and the two packages of the extra; no program but Python's."""
    _python("-m", "venv", "--without-pip", str(tmp_path / "env"))
    (site_packages,) = tmp_path.glob("env/lib/python*/site-packages")
    _link_dependencies(site_packages)
    for name in ("mini-racer", "resvg_py"):
        _link(distribution(name), site_packages)
    with zipfile.ZipFile(builds.wheel) as archive:
        archive.extractall(site_packages)
    (tmp_path / "order.puml").write_text("@startuml\nclass Order\nclass Line\nOrder *-- Line\n@enduml\n")
    env = {"PATH": str(tmp_path / "env/bin"), "HOME": str(tmp_path), "PLANTUML_RENDER_TIMEOUT_S": "60"}

    done = subprocess.run(
        [tmp_path / "env/bin/python", "-m", "signet", "diagram", "order.puml", "--format", "png"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=4 * PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "order.png").read_bytes().startswith(b"\x89PNG")


def test_an_installed_console_has_its_page_and_every_file_that_the_page_loads(served: Server) -> None:
    html = {"accept": "text/html"}
    waiting = re.findall(r'(?:src|href)="(-/files/[^"]+)"', served.ask("GET", "/", headers=html).body.decode())
    read: dict[str, Reply] = {}
    while waiting:
        name = waiting.pop().rpartition("/")[2]
        if name in read:
            continue
        read[name] = served.ask("GET", f"/-/files/{name}")
        # What a module imports, and the worker and the styles that it names; a view has styles of its name.
        found = re.findall(r'["`](?:\./|-/files/)?([a-z_]+\.(?:js|css|svg))["`]', read[name].body.decode())
        waiting += [*found, *(one.replace(".js", ".css") for one in found if name == "app.js" and one != "app.js")]

    packed = set(os.listdir(ROOT / "src/signet/console/files")) - {"index.html"}
    assert {name for name, reply in read.items() if reply.status == 200} == packed
    scripts = [reply.body.decode() for reply in read.values()]
    assert {name for script in scripts for name in re.findall(r'"\./([a-z_]+\.js)"', script)} <= packed


def test_an_installed_console_has_the_diagram_engine(served: Server) -> None:
    names = ("shim", "fonts", "viz-global", "plantuml", "themes", "openiconic", "emoji")
    scripts = {name: served.ask("GET", f"/-/engine/{name}.js", headers={"accept-encoding": "gzip"}) for name in names}

    assert served.ask("GET", "/-/diagram").json()["inPage"] is True
    assert {name: reply.status for name, reply in scripts.items()} == dict.fromkeys(names, 200)


def test_an_installed_console_has_the_contracts_of_the_last_release(served: Server) -> None:
    sets = served.ask("GET", "/-/contracts").json()["sets"]
    changed = served.post("/-/contracts/diff", {"old": "0.1.0", "new": "served"})

    assert {"0.1.0", "served"} <= {one["name"] for one in sets}
    assert changed.status == 200


def test_an_installed_console_renders_the_statement_and_the_formulas_of_a_problem(served: Server) -> None:
    call = {"tool": "get_problem", "arguments": {"source": "atcoder", "id": "abc901_a"}}
    view = served.post("/-/call", call).json()["view"]

    assert view["kind"] == "markdown"
    assert "<h1>" in view["html"]
    assert "<mi>h</mi>" in view["html"]
