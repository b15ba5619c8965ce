"""Completion in real shells: commands, flags, choices, tools and their arguments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from processes import BIN, PATIENCE_S, clean_env, run
from real.witness import JUDGE_TOOLS, READY_TOOLS
from terminals import Screen

COMPLETED = [
    (("signet", "st"), {"stdio"}),
    (("signet", "--deterministic-ids", "st"), {"stdio"}),
    (("signet", "boj", ""), {"databases", "fetch", "plot", "search", "info", "index"}),
    (("signet", "contract", "d"), {"diff"}),
    (("signet", "call", ""), {*READY_TOOLS, *JUDGE_TOOLS}),
    (("signet", "call", "--sandbox", "enc"), {"encodePlantUML"}),
    (("signet", "call", "get_problem", ""), {"source=", "id="}),
    (("signet", "tools", "boj_get_d"), {"boj_get_data_code", "boj_get_data_layer"}),
    (("signet", "serve", "--po"), {"--port"}),
    (("signet", "contract", "diff", "--o"), {"--only-breaking"}),
    (("signet", "serve", "--validation", ""), {"enforce", "shadow", "off"}),
    (("signet", "boj", "fetch", "--lang", ""), {"en", "jp"}),
    (("signet", "sandbox", ""), {"boj", "oj"}),
    (("signet", "completion", ""), {"bash", "zsh", "fish"}),
    (("signet", "install", "claude-"), {"claude-desktop", "claude-code"}),
    (("signet", "uninstall", "open"), {"opencode"}),
    (("signet", "install", "cursor", "--pr"), {"--project", "--print"}),
    (("signet", "help", "par"), {"parity"}),
    (("signet", "replay", "tap"), {"tape"}),
    (("signet", "serve", "--record", "tap"), {"tape"}),
]
"""Words as they are written, the last one in part, and what it may become."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts, and something whose name can be completed."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        done = run("completion", shell)
        assert (done.returncode, done.stderr) == (0, b"")
        (folder / f"signet.{shell}").write_bytes(done.stdout)
    (folder / "tape").mkdir()
    return folder


def shell(folder: Path, *command: str) -> list[str]:
    """Run a shell without a signet to start: completing must need none."""
    env = {**clean_env(), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(("words", "found"), COMPLETED, ids=lambda one: " ".join(one) if isinstance(one, tuple) else "")
def test_bash_completes(folder: Path, words: tuple[str, ...], found: set[str]) -> None:
    script = (
        'source signet.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _signet signet;'
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )

    assert set(shell(folder, "bash", "--norc", "-c", script, "bash", *words)) == found


@pytest.mark.parametrize(("words", "found"), COMPLETED, ids=lambda one: " ".join(one) if isinstance(one, tuple) else "")
def test_fish_completes(folder: Path, words: tuple[str, ...], found: set[str]) -> None:
    lines = shell(folder, "fish", "--no-config", "-c", f"source signet.fish; complete -C '{' '.join(words)}'")

    assert {line.partition("\t")[0].rstrip("/") for line in lines} == found


def test_fish_shows_what_commands_and_flags_are_for(folder: Path) -> None:
    lines = shell(folder, "fish", "--no-config", "-c", "source signet.fish; complete -C 'signet serve --workers'")

    assert lines == ["--workers\tnumber of server processes"]


ONLY_ONE = [(words, found) for words, found in COMPLETED if len(found) == 1]


@pytest.mark.parametrize("name", ["zsh", "bash"])
def test_a_tab_completes_at_the_prompt(folder: Path, name: str) -> None:
    """In an interactive shell, as the script's own first lines say that it is read."""
    start = {
        "zsh": ["zsh", "-f", "-i"],
        "bash": ["bash", "--norc", "-i"],
    }[name]
    ready = {
        "zsh": "autoload -U compinit; compinit -u -D; source <(signet completion zsh)",
        "bash": "source <(signet completion bash)",
    }[name]
    env = {**clean_env(), "PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(folder), "PS1": "> ", "TERM": "dumb"}
    screen = Screen(start, columns=200, env=env)
    try:
        screen.type(f"cd {folder}; {ready}; echo rea''dy\n".encode())
        screen.wait_for("ready")
        for words, found in ONLY_ONE:
            screen.type(f"{' '.join(words)}\t".encode())
            screen.wait_for(*found)
            # Ctrl-U: the next line.
            screen.type(b"\x15")
    finally:
        screen.close()


def test_zsh_lists_commands_with_what_they_are_for(folder: Path) -> None:
    env = {**clean_env(), "PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(folder), "PS1": "> ", "TERM": "xterm"}
    screen = Screen(["zsh", "-f", "-i"], columns=100, env=env)
    try:
        screen.type(b"autoload -U compinit; compinit -u -D; source <(signet completion zsh); echo rea''dy\n")
        screen.wait_for("ready")
        screen.type(b"signet \t")
        shown = screen.wait_for("serve the tools over HTTP")
        screen.type(b"\x15signet serve --validation \t")
        choices = screen.wait_for("shadow")
    finally:
        screen.close()

    assert "call one tool and print its result" in shown
    assert "enforce" in choices


def test_another_shell_is_refused_with_those_there_are() -> None:
    done = run("completion", "tcsh")

    assert (done.returncode, done.stdout) == (2, b"")
    assert all(name in done.stderr.decode() for name in ("tcsh", "bash", "zsh", "fish"))
