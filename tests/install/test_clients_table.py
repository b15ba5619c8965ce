"""Where each client looks for its file, on three systems; and a file that changes while it is edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from signet.clients.clients import CLIENTS, path_of
from signet.commands.install.config_file import read_config, write_config

LINUX = {"HOME": "/home/u"}
MAC = {"HOME": "/Users/u", "XDG_CONFIG_HOME": "/Users/u/xdg"}
WINDOWS = {"USERPROFILE": "C:\\Users\\u", "APPDATA": "C:\\Users\\u\\AppData\\Roaming"}
SUPPORT = "/Users/u/Library/Application Support"
PATHS = {
    "claude-desktop": (
        "/home/u/.config/Claude/claude_desktop_config.json",
        f"{SUPPORT}/Claude/claude_desktop_config.json",
        "C:\\Users\\u\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
    ),
    "claude-code": ("/home/u/.claude.json", "/Users/u/.claude.json", "C:\\Users\\u\\.claude.json"),
    "cursor": ("/home/u/.cursor/mcp.json", "/Users/u/.cursor/mcp.json", "C:\\Users\\u\\.cursor\\mcp.json"),
    "vscode": (
        "/home/u/.config/Code/User/mcp.json",
        f"{SUPPORT}/Code/User/mcp.json",
        "C:\\Users\\u\\AppData\\Roaming\\Code\\User\\mcp.json",
    ),
    "codex": ("/home/u/.codex/config.toml", "/Users/u/.codex/config.toml", "C:\\Users\\u\\.codex\\config.toml"),
    "gemini": (
        "/home/u/.gemini/settings.json",
        "/Users/u/.gemini/settings.json",
        "C:\\Users\\u\\.gemini\\settings.json",
    ),
    "windsurf": (
        "/home/u/.codeium/windsurf/mcp_config.json",
        "/Users/u/.codeium/windsurf/mcp_config.json",
        "C:\\Users\\u\\.codeium\\windsurf\\mcp_config.json",
    ),
    "zed": (
        "/home/u/.config/zed/settings.json",
        "/Users/u/.config/zed/settings.json",
        "C:\\Users\\u\\AppData\\Roaming\\Zed\\settings.json",
    ),
    "goose": (
        "/home/u/.config/goose/config.yaml",
        "/Users/u/xdg/goose/config.yaml",
        "C:\\Users\\u\\AppData\\Roaming\\Block\\goose\\config\\config.yaml",
    ),
    "opencode": (
        "/home/u/.config/opencode/opencode.json",
        "/Users/u/xdg/opencode/opencode.json",
        "C:\\Users\\u\\.config\\opencode\\opencode.json",
    ),
}


def test_these_are_all_the_clients() -> None:
    assert list(CLIENTS) == list(PATHS)


@pytest.mark.parametrize("client", PATHS)
def test_the_file_of_a_client_is_found_on_each_system(client: str) -> None:
    systems = (("linux", LINUX), ("darwin", MAC), ("win32", WINDOWS))

    assert tuple(path_of(client, platform, environ) for platform, environ in systems) == PATHS[client]


MOVED = {
    ("vscode", "XDG_CONFIG_HOME", "/x"): "/x/Code/User/mcp.json",
    ("goose", "XDG_CONFIG_HOME", "relative"): "/home/u/.config/goose/config.yaml",
    ("codex", "CODEX_HOME", "/c"): "/c/config.toml",
    ("claude-code", "CLAUDE_CONFIG_DIR", "/d"): "/d/.claude.json",
}


@pytest.mark.parametrize(("client", "variable", "value"), MOVED)
def test_a_variable_moves_the_file(client: str, variable: str, value: str) -> None:
    path = path_of(client, "linux", {**LINUX, variable: value})

    assert path == MOVED[client, variable, value]


def test_the_file_of_a_project_is_relative_to_its_folder() -> None:
    assert path_of("cursor", "linux", {}, project=True) == ".cursor/mcp.json"
    assert path_of("vscode", "win32", {}, project=True) == ".vscode\\mcp.json"


@pytest.mark.parametrize(("platform", "variable"), [("linux", "HOME"), ("win32", "USERPROFILE")])
def test_without_a_home_there_is_no_file(platform: str, variable: str) -> None:
    with pytest.raises(ValueError, match=f"{variable} does not name the user's folder"):
        path_of("cursor", platform, {})


def test_a_file_that_another_program_has_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    file = read_config(str(path))
    path.write_text('{"theirs": 1}')

    with pytest.raises(OSError, match="another program has just changed it"):
        write_config(file, '{"ours": 1}', shared=False)

    assert path.read_text() == '{"theirs": 1}'
    assert [one.name for one in tmp_path.iterdir()] == ["mcp.json"]
