"""The name of a server that was given none: by its package, its file, its image or its host. Pure.

The name depends on the command alone, so that `signet lock` and `signet wrap` agree on it in every folder.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

__all__ = ["default_name", "plain_name", "plain_slug"]

MAX_NAME_CHARS: Final = 60
ODD: Final = re.compile(r"[^a-z0-9_.]+")
MAX_WORDS: Final = 1_000
MAX_SCRIPT_CHARS: Final = 4_096
MAX_DEPTH: Final = 8
"""The most launchers that start each other: `env`, `sh -c`, `uv run`, `python`."""
SUFFIXES: Final = re.compile(r"\.(?:py|js|mjs|cjs|ts|mts|rb|sh|exe|cmd|bat|jar|git)$", re.IGNORECASE)
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=(?!=)")
VERSION: Final = re.compile(r"(?<=.)(?:@|[=<>~!]=|\[).*", re.DOTALL)
"""Behind the name of a package: @1.2.3, ==1.2.3, [extra]."""
REGISTRY: Final = re.compile(r"^(?:npm|jsr|github|git\+https?):(?!//)")
OBJECT: Final = re.compile(r"(?<=\.py):\w+$")
"""Behind a Python file: the variable that is the server."""
GENERIC: Final = frozenset(("index", "main", "__main__", "mod", "start", "dev"))
"""Names that files of many servers have: the folder tells such servers apart."""
LAYOUT: Final = frozenset(
    (
        "",
        ".",
        "..",
        "dist",
        "build",
        "out",
        "lib",
        "src",
        "bin",
        "target",
        "release",
        "debug",
        "cmd",
        "js",
        "esm",
        "cjs",
    )
)
"""Folders inside a project, which do not tell projects apart either."""


class _Launcher(NamedTuple):
    """How the words behind a launcher are read, up to the one that names the server."""

    actions: frozenset[str] = frozenset()
    """Words that are passed over: `run`, `exec`."""
    valued: frozenset[str] = frozenset()
    """Flags with a value in the next word."""
    names: frozenset[str] = frozenset()
    """Flags whose value names the server, such as `-m` of Python."""
    folders: frozenset[str] = frozenset()
    """Flags whose value is the folder of the server."""
    scripts: frozenset[str] = frozenset()
    """Flags whose value is a command line for a shell."""
    switches: frozenset[str] | None = None
    """All flags without a value, where every other flag has one."""
    is_container: bool = False
    is_bridge: bool = False
    """Whether the word is the address of a remote server."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NPX: Final = _Launcher(
    valued=_words("-p --package --registry --cache --userconfig -w --workspace"), scripts=_words("-c --call")
)
_NPM: Final = _Launcher(
    actions=_words("exec x dlx run run-script"),
    valued=_words("-p --package --registry --cache --userconfig -w --workspace --filter -F"),
    folders=_words("--prefix -C --dir --cwd"),
)
_UV: Final = _Launcher(
    actions=_words("run tool x"),
    valued=_words(
        "--from --with --with-editable --with-requirements -p --python --index --index-url -i --default-index "
        "--extra-index-url -f --find-links -c --constraints --overrides --cache-dir --config-file --env-file "
        "--exclude-newer --link-mode -P --upgrade-package --refresh-package --extra --group --package --only-group "
        "--no-group --no-extra --color --allow-insecure-host"
    ),
    names=_words("-m --module"),
    folders=_words("--directory --project"),
)
_PROJECT: Final = _Launcher(
    actions=_words("run"), valued=_words("-e --env --venv"), folders=_words("-C --directory -p --project")
)
_CONDA: Final = _Launcher(actions=_words("run"), valued=_words("-n --name -p --prefix"), folders=_words("--cwd"))
_NODE: Final = _Launcher(valued=_words("-r --require --import --loader --experimental-loader -C --conditions"))
_SHELL: Final = _Launcher(scripts=_words("-c -lc -ec -ic -lic"), valued=_words("-o"))
_DOCKER: Final = _Launcher(
    actions=_words("run exec container compose"),
    switches=_words(
        "-d --detach -i --interactive -t --tty -T --rm --init --privileged --read-only -P --publish-all -q --quiet "
        "--no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --no-TTY --no-deps --build "
        "--quiet-pull --replace --tls --tlsverify -D --debug"
    ),
    is_container=True,
)
LAUNCHERS: Final[dict[str, _Launcher]] = {
    **dict.fromkeys(("npx", "bunx", "pnpx"), _NPX),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NPM),
    **dict.fromkeys(("uv", "uvx"), _UV),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _DOCKER),
    **dict.fromkeys(("node", "nodejs", "tsx", "ts-node"), _NODE),
    **dict.fromkeys(("sh", "bash", "zsh", "dash"), _SHELL),
    **dict.fromkeys(("mcp", "fastmcp"), _Launcher(actions=_words("run dev"), valued=_words("--with --with-editable"))),
    "pipx": _Launcher(actions=_words("run"), valued=_words("--spec --python --pip-args -i --index-url --with")),
    **dict.fromkeys(("poetry", "pdm", "hatch", "rye", "pipenv"), _PROJECT),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _CONDA),
    "python": _Launcher(valued=_words("-X -W --check-hash-based-pycs"), names=_words("-m")),
    "ruby": _Launcher(valued=_words("-I -r -C")),
    "perl": _Launcher(valued=_words("-I")),
    "php": _Launcher(valued=_words("-d -c"), names=_words("-f")),
    "deno": _Launcher(actions=_words("run"), valued=_words("-c --config --import-map --cert --location --seed")),
    "java": _Launcher(valued=_words("-cp -classpath --class-path -p --module-path"), names=_words("-jar -m --module")),
    "go": _Launcher(actions=_words("run"), valued=_words("-tags -mod"), folders=_words("-C")),
    "dotnet": _Launcher(actions=_words("run exec"), valued=_words("-c --configuration -f"), names=_words("--project")),
    "env": _Launcher(valued=_words("-u --unset"), folders=_words("-C --chdir"), scripts=_words("-S --split-string")),
    "sudo": _Launcher(valued=_words("-u --user -g --group -D")),
    "nice": _Launcher(valued=_words("-n --adjustment")),
    "stdbuf": _Launcher(valued=_words("-i -o -e --input --output --error")),
    "xvfb-run": _Launcher(valued=_words("-n --server-num -s --server-args -e --error-file -f --auth-file")),
    "cargo": _Launcher(
        actions=_words("run"), valued=_words("-F --features --profile --target"), names=_words("-p --package --bin")
    ),
    "cmd": _Launcher(actions=_words("/c /C /k /K /d /D /s /S")),
    **dict.fromkeys(("exec", "nohup"), _Launcher()),
    "mcp-remote": _Launcher(is_bridge=True),
}


def default_name(command: Sequence[str], url: str = "") -> str:
    """Return the name of a server that was given none.

    The name is that of its package, of its file without suffix, of its image without registry and tag, or of its host.
    """
    if not command:
        return plain_name(_host(url))
    return plain_name(_named(list(command[:MAX_WORDS]), "", MAX_DEPTH) or _stem(command[0]))


def plain_name(text: str) -> str:
    """Return a name in the alphabet of server names."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")[:MAX_NAME_CHARS] or "server"


def _launcher(word: str) -> _Launcher | None:
    """Return the launcher that a word starts, if it is one; `python3.11` is Python."""
    base = re.sub(r"\.(?:exe|cmd)$", "", re.split(r"[/\\]", word)[-1].lower())
    return LAUNCHERS.get(VERSION.sub("", base)) or LAUNCHERS.get(re.sub(r"[0-9.]+$", "", base))


def _named(words: list[str], folder: str, depth: int) -> str:
    """Return what the words of a command name; empty if they name nothing."""
    launcher = _launcher(words[0]) if depth else None
    if launcher is None:
        return _file_name(words[0], folder)
    at = 1
    while at < len(words):
        word = words[at]
        if word.startswith("-") and word != "-":
            flag, has_value, value = _flag(launcher, word)
            if not has_value and _takes_value(launcher, flag):
                at += 1
                value = words[at] if at < len(words) else ""
            if flag in launcher.names:
                return _module_name(value, folder)
            if flag in launcher.scripts:
                return _script_name(value, folder, depth)
            folder = value if flag in launcher.folders else folder
        elif word not in launcher.actions and not VARIABLE.match(word):
            return _target_name(launcher, words[at:], folder, depth)
        at += 1
    return plain_name(re.split(r"[/\\]", folder.rstrip("/\\"))[-1]) if folder else ""


def _target_name(launcher: _Launcher, words: list[str], folder: str, depth: int) -> str:
    word = words[0]
    if launcher.is_container:
        return re.split(r"[:@]", word.partition("@")[0].rsplit("/", 1)[-1])[0]
    if launcher.is_bridge:
        return _host(word) or _file_name(word, folder)
    return _named(words, folder, depth - 1) or _file_name(word, folder)


def _flag(launcher: _Launcher, word: str) -> tuple[str, bool, str]:
    """Return a flag and the value that is in the same word: --flag=value, or -fvalue of several short flags."""
    flag, equals, value = word.partition("=")
    if launcher.switches is None or word.startswith("--"):
        return flag, bool(equals), value
    for place, char in enumerate(word[1:], 2):
        if f"-{char}" not in launcher.switches:
            return f"-{char}", place < len(word), word[place:]
    return word[:2], False, ""


def _takes_value(launcher: _Launcher, flag: str) -> bool:
    if launcher.switches is not None:
        return flag != "--" and flag not in launcher.switches
    return any(flag in kind for kind in (launcher.valued, launcher.names, launcher.folders, launcher.scripts))


def _script_name(script: str, folder: str, depth: int) -> str:
    """Return the name of the server that the last command of a script starts."""
    lexer = shlex.shlex(script[:MAX_SCRIPT_CHARS], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in {"&&", ";", "||"}:
                commands.append([])
            elif word and word[0] in "|<>&" and commands[-1]:
                break
            else:
                commands[-1].append(word)
    except ValueError:
        return ""
    for words in commands:
        folder = words[1] if len(words) > 1 and words[0] == "cd" else folder
    words = [word for word in commands[-1] if not VARIABLE.match(word)] if commands[-1] else []
    return _named(words, folder, depth - 1) if words else ""


def _module_name(module: str, folder: str) -> str:
    return module if re.fullmatch(r"[^/\\]+\.(?!jar$)[^/\\]+", module) else _file_name(module, folder)


def _file_name(word: str, folder: str) -> str:
    """Return the name of a package or a file; of a file with a name that many have, the name of its folder."""
    parts = re.split(r"[/\\]", OBJECT.sub("", REGISTRY.sub("", word.partition("#")[0]).rstrip("/\\")))
    stem = _stem(parts[-1])
    if stem.lower() not in GENERIC:
        return stem
    above = [*re.split(r"[/\\]", folder), *parts[:-1]]
    telling = [part for part in above if part.lower() not in LAYOUT and not part.endswith(":")]
    written = [part for part in parts[:-1] if part.strip(".")]
    return VERSION.sub("", telling[-1]) if telling else "-".join([*written, stem])


def _stem(word: str) -> str:
    return SUFFIXES.sub("", VERSION.sub("", re.split(r"[/\\]", word)[-1]))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def plain_slug(name: str) -> str:
    """Return the slug of a name that no other has: lower case, other characters as `_`."""
    return ODD.sub("_", name.lower()).strip("._") or "tool"
