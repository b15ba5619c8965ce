"""Install advice: right for whoever reads it, wherever the installation came from."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from fresh_environments import build_wheel, environ_of, make_environment
from processes import PATIENCE_S
from signet.system.installation import Origin, install_command, origin_of

PIP = f"{sys.executable} -m pip install"


def installed(folder: Path, direct_url: object | None, installer: str = "pip") -> PathDistribution:
    """The metadata of an installation."""
    (folder / "METADATA").write_text("Name: signet-mcp\nVersion: 9.9\n")
    (folder / "INSTALLER").write_text(f"{installer}\n")
    if direct_url is not None:
        text = direct_url if isinstance(direct_url, str) else json.dumps(direct_url)
        (folder / "direct_url.json").write_text(text)
    return PathDistribution(folder)


@pytest.mark.parametrize(
    ("direct_url", "origin"),
    [
        (None, Origin("index")),
        ({"url": "file:///home/me/signet", "dir_info": {"editable": True}}, Origin("checkout", "/home/me/signet")),
        ({"url": "file:///home/me/my%20signet", "dir_info": {}}, Origin("folder", "/home/me/my signet")),
        ({"url": "file:///tmp/signet_mcp-9.9.whl", "archive_info": {}}, Origin("wheel", "/tmp/signet_mcp-9.9.whl")),
        (
            {"url": "https://me:secret@files.example/signet.whl", "archive_info": {}},
            Origin("address", "https://files.example/signet.whl"),
        ),
        (
            {"url": "https://git.example/signet", "vcs_info": {"vcs": "git", "commit_id": "1a"}},
            Origin("address", "git+https://git.example/signet"),
        ),
        ("no JSON", Origin("index")),
        ("[]", Origin("index")),
    ],
)
def test_an_installation_knows_where_it_came_from(tmp_path: Path, direct_url: object, origin: Origin) -> None:
    assert origin_of(installed(tmp_path, direct_url)) == origin


def test_the_advice_names_the_index_the_checkout_the_wheel_or_the_address(tmp_path: Path) -> None:
    wheel = tmp_path / "signet_mcp-9.9-py3-none-any.whl"
    wheel.touch()

    assert install_command("plot", origin=Origin("index")) == f"{PIP} 'signet-mcp[plot]'"
    assert install_command("plot", "parquet", origin=Origin("checkout", str(tmp_path))) == (
        f"{PIP} -e '{tmp_path}[plot,parquet]'"
    )
    assert install_command("plot", origin=Origin("folder", str(tmp_path))) == f"{PIP} '{tmp_path}[plot]'"
    assert install_command("parquet", origin=Origin("wheel", str(wheel))) == f"{PIP} '{wheel}[parquet]'"
    assert install_command("parquet", origin=Origin("address", "https://files.example/s.whl")) == (
        f"{PIP} 'signet-mcp[parquet] @ https://files.example/s.whl'"
    )
    assert install_command("plot", origin=Origin("index", installer="uv")) == (
        f"uv pip install --python {sys.executable} 'signet-mcp[plot]'"
    )


@pytest.mark.parametrize("kind", ["wheel", "folder", "checkout", "unknown"])
def test_where_the_origin_is_gone_the_packages_themselves_are_named(kind: str, tmp_path: Path) -> None:
    words = shlex.split(install_command("parquet", origin=Origin(kind, str(tmp_path / "gone"))))

    assert words == [*shlex.split(PIP), "pyarrow>=15"]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The programs of an environment without the optional parts, and a folder with the wheel."""
    folder = tmp_path_factory.mktemp("fresh")
    wheel = build_wheel(folder)
    return make_environment(folder / "env"), wheel


@pytest.mark.parametrize("way", ["wheel", "index"])
def test_the_advice_of_a_fresh_installation_is_a_command_that_pip_takes(fresh: tuple[Path, Path], way: str) -> None:
    """It is run as it stands, but for what the optional packages themselves need: there is no index here."""
    programs, wheel = fresh
    env = environ_of(programs, wheel.parent)
    words = [str(wheel)] if way == "wheel" else ["signet-mcp"]
    subprocess.run([programs / "pip", "install", "-q", "--force-reinstall", "--no-deps", *words], env=env, check=True)

    command = [programs / "signet", "boj", "plot", "--sandbox", "FM08", "--codes", "FXERD01"]
    plot = subprocess.run(command, env=env, cwd=wheel.parent, capture_output=True, timeout=PATIENCE_S, check=False)
    advice = plot.stderr.decode().strip().partition("matplotlib: ")[2]
    done = subprocess.run(advice, shell=True, env=env | {"PIP_NO_DEPS": "1"}, capture_output=True, check=False)

    target = str(wheel) if way == "wheel" else "signet-mcp"
    assert plot.returncode == 2
    python, *rest = shlex.split(advice)
    assert (Path(python).parent, rest) == (programs, ["-m", "pip", "install", f"{target}[plot]"])
    assert done.returncode == 0, done.stderr
