"""`signet new`: a project that passes its own tests in an environment with nothing but Signet and pytest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from commands_in_process import run_here
from fresh_environments import build_wheel, environ_of, link_packages, make_environment
from processes import FIRST_AND_LAST_DOOR
from signet.commands.new.names import name_project
from signet.commands.new.project import make_project
from signet.settings.usage import UsageError
from user_projects import LONG_S, counts

FILES = {
    ".github/workflows/ci.yml", ".gitignore", "README.md", "pyproject.toml", "signet.toml", "tests/test_tools.py",
    "src/weather/__init__.py", "src/weather/tools.py",
    "src/weather/contracts/toolset.json", "src/weather/contracts/tools/weather.days_until.json",
}  # fmt: skip
RUN_TIME = ("aiohttp", "httptools", "jsonschema-rs", "msgspec", "rich", "uvloop")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Return a function that runs a module in an environment with the built wheel, pytest, and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], env=environ_of(), check=True)
    (site_packages,) = folder.glob("env/lib/python*/site-packages")
    link_packages(site_packages, {*RUN_TIME, "pytest"})
    with zipfile.ZipFile(build_wheel(folder)) as wheel:
        wheel.extractall(site_packages)
    env = {name: value for name, value in environ_of(folder / "env/bin").items() if not name.startswith("PYTEST_")}

    def start(cwd: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "env/bin/python"), "-W", "error", "-m", *words]
        return subprocess.run(
            command, cwd=cwd, env={**env, **more}, capture_output=True, encoding="utf-8", timeout=LONG_S, check=False
        )

    return start


@pytest.fixture(scope="module")
def weather(empty: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project."""
    folder = tmp_path_factory.mktemp("scratch")
    done = empty(folder, "signet", "new", "weather")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["  cd weather", "  pip install -e '.[dev]'", "  signet check && pytest"]
    return folder / "weather"


def files_of(folder: Path) -> set[str]:
    """The files of a project but for what was recorded."""
    paths = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {path for path in paths if "cassettes/" not in path and "__pycache__" not in path}


def test_a_new_project_has_a_tool_its_contract_tests_and_a_ci_file(weather: Path) -> None:
    project = tomllib.loads((weather / "pyproject.toml").read_text())["project"]

    assert files_of(weather) == FILES
    assert (project["name"], project["entry-points"]) == (
        "weather",
        {"signet.toolsets": {"weather": "weather.tools:toolset"}},
    )
    assert json.loads((weather / "src/weather/contracts/toolset.json").read_text()) == {
        "toolset": "weather",
        "version": "0.1.0",
        "tools": ["weather.days_until"],
    }
    assert not list(weather.rglob("__pycache__")), "nothing is left of the first import"
    assert "@" not in (weather / "src/weather/tools.py").read_text().replace("@signet.tool", "")


def test_it_passes_its_own_tests_at_once_where_nothing_is_recorded(empty: Command, weather: Path) -> None:
    done = empty(weather, "pytest", "-q", "-p", "no:cacheprovider", CI="true")

    assert counts(done) == {"passed": 8}, done.stdout + done.stderr


def test_it_passes_the_gate_at_once_by_its_file_and_by_its_entry_point(
    empty: Command, weather: Path, tmp_path: Path
) -> None:
    shutil.copytree(weather, tmp_path / "weather")
    (tmp_path / "weather/signet.toml").unlink()

    by_file = empty(weather, "signet", "check", "--format", "json")
    by_entry_point = empty(tmp_path / "weather", "signet", "check", "--format", "json", **FIRST_AND_LAST_DOOR)

    targets = [json.loads(done.stdout)["targets"] for done in (by_file, by_entry_point)]
    assert targets == [["src/weather/tools.py"], ["weather.tools:toolset"]]
    for done in (by_file, by_entry_point):
        assert done.returncode == 0, done.stdout + done.stderr
        assert {check["state"] for check in json.loads(done.stdout)["results"]} == {"ok"}


def test_a_copy_that_is_installed_does_not_replace_the_code_of_the_project(tmp_path: Path) -> None:
    """As tox, nox and many CI files install a project: with `pip install .`, and not `-e`."""
    wheel = build_wheel(tmp_path)
    programs = make_environment(tmp_path / "env", ("pytest", "hatchling"))
    env = {name: value for name, value in environ_of(programs, wheel.parent).items() if not name.startswith("PYTEST_")}

    def start(*words: str, folder: str = "demo", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(programs / "python"), "-m", *words], cwd=tmp_path / folder, env={**env, **more}, capture_output=True,
            encoding="utf-8", timeout=LONG_S, check=False,
        )  # fmt: skip

    assert start("pip", "install", "-q", "signet-mcp", folder=".").returncode == 0
    assert start("signet", "new", "demo", folder=".").returncode == 0
    installed = start("pip", "install", "-q", "--no-build-isolation", "--no-deps", ".")
    assert installed.returncode == 0, installed.stderr
    tools = tmp_path / "demo/src/demo/tools.py"
    tools.write_text(tools.read_text().replace("Count the days", "Count all days"))

    checked = start("signet", "check", **FIRST_AND_LAST_DOOR)
    listed = start("signet", "tools", "src/demo/tools.py", "days_until")
    tested = start("pytest", "-q", "-p", "no:cacheprovider", CI="true")

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "Count all days" in listed.stdout, listed.stdout + listed.stderr
    assert counts(tested) == {"passed": 8}, tested.stdout + tested.stderr


def test_after_a_breaking_edit_the_gate_and_the_tests_fail_with_an_example(
    empty: Command, weather: Path, tmp_path: Path
) -> None:
    shutil.copytree(weather, tmp_path / "weather")
    tools = tmp_path / "weather/src/weather/tools.py"
    tools.write_text(tools.read_text().replace("day: Day, ctx", "day: Day, month: int, ctx"))

    check = empty(tmp_path / "weather", "signet", "check")
    tests = empty(tmp_path / "weather", "pytest", "-q", "-p", "no:cacheprovider", CI="true")

    assert check.returncode == 1, check.stdout + check.stderr
    assert '"month" is a required property; {"day":"' in " ".join(check.stdout.split())
    assert (tests.returncode, counts(tests)) == (1, {"error": 8}), tests.stdout
    assert '"month" is a required property; {"day":"' in tests.stdout


@pytest.mark.parametrize("door", ["stdio", "rest"])
def test_its_tests_pass_at_another_door(empty: Command, weather: Path, door: str) -> None:
    words = ("-q", "-p", "no:cacheprovider", "-k", "counted or contract", f"--signet-door={door}")

    done = empty(weather, "pytest", *words, CI="true")

    assert counts(done) == {"passed": 2}, done.stdout + done.stderr


def test_its_code_and_its_contract_agree_as_the_built_wheel_has_them(weather: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=weather, env=environ_of(), capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert {path.removeprefix("src/") for path in FILES if path.startswith("src/")} <= names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".", "'.' is a place and no name: write signet new NAME --path ."),
        ("up/weather", "'up/weather' is a place and no name"),
        ("we ather", "'we ather' cannot name a project because of ' ': write ASCII letters"),
        ("wetter☀", "cannot name a project because of '☀'"),
        ("9lives", "'9lives' cannot name a project: write ASCII letters, digits, -, _ and ., a letter first"),
        ("json", "a package json would hide another of that name"),
        ("msgspec", "a package msgspec would hide another of that name"),
        ("class", "a package class would hide another of that name"),
        ("plantuml-tools", "there is a toolset 'plantuml_tools' already"),
        ("a" * 65, "too long"),
    ],
)
def test_a_name_that_cannot_be_used_is_told(name: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        name_project(name)

    assert text in str(caught.value)


def test_the_command_refuses_such_a_name_and_writes_nothing(tmp_path: Path) -> None:
    done = run_here("new", ".", "--path", str(tmp_path / "made"))

    assert (done.returncode, done.stderr) == (
        2,
        b"signet: '.' is a place and no name: write signet new NAME --path .\n",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["test", "yaml", "Hatchling", "mcp"])
def test_the_name_of_a_package_that_can_be_imported_is_refused(tmp_path: Path, name: str) -> None:
    done = run_here("new", name, "--path", str(tmp_path / "made"))

    text = f"a package {name.lower()} would hide another of that name: write another name, such as my-{name}"
    assert (done.returncode, done.stderr.decode()) == (2, f"signet: {text}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_does_not_import_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "weather_then", None)

    with pytest.raises(UsageError, match=r"there is no module weather_then\.tools"):
        make_project(str(tmp_path / "made"), name_project("weather-then"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [("", "--path names no folder: write one, . for this one, or leave it out")],
)
def test_a_path_that_cannot_be_used_is_told(
    tmp_path: Path, path: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    done = run_here("new", "weather", f"--path={path}")

    assert (done.returncode, text in done.stderr.decode()) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_anything_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")

    done = run_here("new", "weather", "--path", str(tmp_path))

    assert (done.returncode, "is there already and not empty" in done.stderr.decode()) == (2, True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("README.md", "mine")]


def test_an_empty_folder_and_a_fresh_clone_are_filled(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")

    done = run_here("new", "Weather.Now", "--path", str(tmp_path))

    assert done.returncode == 0, done.stderr
    assert (tmp_path / ".git/HEAD").read_text() == "ref: refs/heads/main\n"
    assert (tmp_path / "src/weather_now/contracts/tools/weather_now.days_until.json").exists()
    assert sorted(os.listdir(tmp_path)) == [
        ".git", ".github", ".gitignore", "README.md", "pyproject.toml", "signet.toml", "src", "tests",
    ]  # fmt: skip


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = run_here("new", "weather", "--path", str(tmp_path / "file/weather"))

    assert (done.returncode, done.stderr.decode().startswith("signet: cannot write ")) == (2, True), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
