"""The jobs that one mechanism is to do, and the modules, folders or rooms that do each now.

A job is recognised by what the source of a module says: the calls that it makes, the fields of its structs, its texts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from .graph import room_of
from .tree import Module, docstrings_in, nodes_in

__all__ = ["MECHANISMS", "users_of"]

STARTS: Final = re.compile(
    r"(?:\w+\.)*(?:Popen|create_subprocess_\w+|subprocess_(?:exec|shell)|posix_spawnp?|fork(?:pty)?|os\.(?:system|popen|spawn\w+)"
    r"|subprocess\.(?:run|call|check_call|check_output|getoutput|getstatusoutput))"
)
LOCKS: Final = re.compile(r"(?:\w+\.)*(?:flock|lockf|msvcrt\.locking|F_(?:OFD_)?SETLKW?)")
SECRETS: Final = re.compile(
    r"gh[pousr]_|github_pat_|glpat-|\bAKIA|\bASIA|\bxox|sk_live|sk-(?:proj|ant)|\bnpm_|AIza|PRIVATE KEY|\beyJ"
    r"|(?i:passw.{0,40}secret|secret.{0,40}passw)"
)
"""Beginnings of well-known tokens, and patterns of names that mean a secret."""
NAMES: Final = {
    "passwd", "password", "secret", "client_secret", "apikey", "api_key", "api-key", "x-api-key", "access_token",
    "authorization", "proxy-authorization", "cookie", "set-cookie", "credential", "credentials", "private_key",
}  # fmt: skip
"""Names of secrets; three of them in one statement, or in the comparisons of a module, are a table."""
A_TABLE: Final = 3
HEAD: Final = {"jsonrpc", "id", "method", "params", "result", "error"}
LABELS: Final = re.compile(r"(?:cassette|tape|recording)\.json")
FIGURES: Final = re.compile(r".*(?:Counters?|Counts|Gauges?|Histograms?|Tally|Tallies|Figures?|Totals|Metrics?)")
"""Names of classes that count; a frozen struct shows figures, and cannot count."""
RANKS: Final = re.compile(r".*(?:quantile|percentile|histogram).*")
"""Names of functions that rank the values that were counted."""
SETTINGS: Final = re.compile(r".*settings?(?:_.*)?|configuration|config")
SHOWS_SETTINGS: Final = "signet.commands.config"
"""The command `signet config`: it prints what the room of settings says."""


def _dotted(node: ast.AST) -> str:
    """Return a name with what stands before it, or nothing."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{_dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def _calls(module: Module, names: re.Pattern[str]) -> bool:
    """Tell whether a module uses a function otherwise than as a type: it may also be passed on."""
    types = {
        part
        for node in nodes_in(module.tree)
        for field in ("annotation", "returns")
        if (annotation := getattr(node, field, None)) is not None
        for part in ast.walk(annotation)
    }
    used = (node for node in nodes_in(module.tree) if isinstance(node, ast.Name | ast.Attribute) and node not in types)
    return any(names.fullmatch(_dotted(node)) for node in used)


def _texts(module: Module) -> Iterator[str]:
    """Yield the strings of a module; docstrings are left out."""
    docstrings = docstrings_in(module.tree)
    yield from _strings(node for node in nodes_in(module.tree) if node not in docstrings)


def _strings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def _in_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a statement consists of, without the statements inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield child
            yield from _in_statement(child)


def starts_processes(module: Module) -> bool:
    """Tell whether a module starts other programs."""
    return _calls(module, STARTS)


def declares_heads(module: Module) -> bool:
    """Tell whether a module has a struct that finds the method or the id of a JSON-RPC message."""
    for node in nodes_in(module.tree):
        if isinstance(node, ast.ClassDef) and any(_dotted(base).endswith("Struct") for base in node.bases):
            fields = {
                one.target.id
                for one in node.body
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
            }
            if "jsonrpc" in fields or (fields & {"id", "method"} and fields <= HEAD):
                return True
    return False


def appends(module: Module) -> bool:
    """Tell whether a module opens files to append to them."""
    for node in nodes_in(module.tree):
        if isinstance(node, ast.Attribute) and node.attr == "O_APPEND":
            return True
        if isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] in {"open", "fdopen"}:
            is_builtin = isinstance(node.func, ast.Name)
            given = [*node.args[is_builtin:], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
            modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if any(re.fullmatch(r"[bt+]*a[bt+]*", mode) for mode in modes):
                return True
    return False


def knows_secrets(module: Module) -> bool:
    """Tell whether a module recognises secrets by their shape or by the name that they stand under."""
    nodes = nodes_in(module.tree)
    compared = (part for node in nodes if isinstance(node, ast.Compare) for part in ast.walk(node))
    groups = [compared, *(_in_statement(node) for node in nodes if isinstance(node, ast.stmt))]
    has_table = any(len({text.lower() for text in _strings(group)} & NAMES) >= A_TABLE for group in groups)
    return has_table or any(SECRETS.search(text) for text in _texts(module))


def locks(module: Module) -> bool:
    """Tell whether a module locks files between processes."""
    return _calls(module, LOCKS)


def pages_lists(module: Module) -> bool:
    """Tell whether a module follows the cursors of a server's lists."""
    names = {node.attr for node in nodes_in(module.tree) if isinstance(node, ast.Attribute)}
    return "next_cursor" in names or "nextCursor" in _texts(module)


def labels_recordings(module: Module) -> bool:
    """Tell whether a module names the label of a folder of recordings."""
    return any(LABELS.fullmatch(text) for text in _texts(module))


def counts_figures(module: Module) -> bool:
    """Tell whether a module has classes of figures, or functions that rank them."""
    for node in nodes_in(module.tree):
        if isinstance(node, ast.ClassDef) and FIGURES.fullmatch(node.name) and not _is_frozen(node):
            return True
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and RANKS.fullmatch(node.name):
            return True
    return False


def _is_frozen(node: ast.ClassDef) -> bool:
    """Tell whether a class is a struct whose fields cannot be changed."""
    frozen = [one.value for one in node.keywords if one.arg == "frozen"]
    return any(isinstance(value, ast.Constant) and value.value is True for value in frozen)


def makes_settings(module: Module) -> bool:
    """Tell whether a module, or the folder that it lies in, is named after settings."""
    named = any(SETTINGS.fullmatch(part) for part in module.name.split("."))
    return named and module.name != SHOWS_SETTINGS


def _module(module: Module) -> str:
    return module.name.removeprefix("signet.")


def _folder(module: Module) -> str:
    return _module(module).rpartition(".")[0]


def _room(module: Module) -> str:
    return room_of(module.name)


MECHANISMS: Final[dict[str, tuple[Callable[[Module], bool], Callable[[Module], str]]]] = {
    "child processes": (starts_processes, _module),
    "JSON-RPC heads": (declares_heads, _module),
    "snapshot takers": (pages_lists, _module),
    "recordings": (labels_recordings, _module),
    "append-only writers": (appends, _module),
    "patterns of secrets": (knows_secrets, _module),
    "locks between processes": (locks, _module),
    "systems of figures": (counts_figures, _folder),
    "settings rooms": (makes_settings, _room),
}
"""Each job: how its mechanisms are recognised, and what is counted."""


def users_of(name: str, modules: list[Module]) -> list[str]:
    """Return the modules, folders or rooms that do a job."""
    does, place = MECHANISMS[name]
    return sorted({place(module) for module in modules if does(module)})
