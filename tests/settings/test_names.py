"""Flat names: a name is looked up alone, and nothing is imported for the names that are not given."""

from __future__ import annotations

import subprocess
import sys

import pytest

from processes import clean_env
from signet.settings.names import find_setting, given_settings, is_setting, toolset_of


def loaded_by(code: str, **variables: str) -> list[str]:
    """Return the toolsets that a process has imported after some code."""
    probe = f"import sys\n{code}\nprint(*sorted(name for name in sys.modules if name.count('.') == 2))"
    command = [sys.executable, "-c", probe]
    done = subprocess.run(command, env=clean_env() | variables, capture_output=True, text=True, check=True)
    return [name.rpartition(".")[2] for name in done.stdout.split() if name.startswith("signet.toolsets.")]


@pytest.mark.parametrize(
    ("variables", "toolsets"),
    [
        ({}, []),
        ({"SIGNET_PORT": "9000", "SIGNET_PRT": "1"}, []),
        ({"OJ_BASE_URL": "http://127.0.0.1:9"}, ["oj"]),
        ({"SIGNET_BOJ_CACHE_S": "1"}, ["boj"]),
    ],
    ids=["none", "of the process", "without the prefix", "with the prefix"],
)
def test_only_the_toolset_is_imported_whose_name_begins_a_variable(
    variables: dict[str, str], toolsets: list[str]
) -> None:
    code = "import os\nfrom signet.settings.names import given_settings\ngiven_settings(os.environ, {})"

    assert loaded_by(code, **variables) == toolsets


def test_a_start_imports_the_toolset_that_is_chosen_and_no_other() -> None:
    code = "from signet.commands.cli import main\nmain(['tools', '--toolsets', 'plantuml', '--json'])"

    assert [name for name in loaded_by(code) if name not in {"encoding", "tools"}] == ["plantuml"]


def test_a_name_that_begins_as_two_toolsets_do_is_that_of_the_one_with_the_setting() -> None:
    toolset = toolset_of("boj_base_url")

    assert toolset is not None
    assert (toolset[0].name, toolset[1]) == ("boj", "base_url")
    assert [is_setting(name) for name in ("boj_explore_base_url", "boj_base", "by_toolset", "port")] == [
        False,
        False,
        False,
        True,
    ]


def test_a_setting_is_found_by_its_flat_name() -> None:
    port, base_url = find_setting("port"), find_setting("boj_base_url")

    assert port is not None
    assert base_url is not None
    assert (port.default, port.metavar, base_url.name) == (8080, "PORT", "base_url")
    assert find_setting("boj_nothing") is None


def test_the_bare_variable_of_a_toolset_is_written_in_capitals_and_the_prefixed_one_wins() -> None:
    environ = {"oj_base_url": "a", "BOJ_BASE_URL": "b", "SIGNET_BOJ_BASE_URL": "c", "SIGNET_OJ_base_url": "d"}

    given = {name: (one.value, one.source) for name, one in given_settings(environ, {}).items()}

    assert given == {"boj_base_url": ("c", "SIGNET_BOJ_BASE_URL"), "oj_base_url": ("d", "SIGNET_OJ_BASE_URL")}
