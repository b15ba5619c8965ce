"""Client rules: lint a tool for what real clients refuse or lose, each finding with the client's name. Pure.

Every finding is a warning, except a secret, which is an error. The rules and their sources: docs/client-rules.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from signet.system.secret_patterns import find_secrets

from .findings import ALL_MODELS, LEAK, RULES, Finding, Findings, step
from .schema_rules import lint_schema

__all__ = ["Finding", "lint_tool", "texts_of"]

NAMES: Final = {
    "MCP": re.compile(r"[A-Za-z0-9._-]+"),
    "OpenAI": re.compile(r"[A-Za-z0-9_-]+"),
    "Anthropic": re.compile(r"[A-Za-z0-9_-]+"),
    "Gemini": re.compile(r"[A-Za-z0-9_.:-]+"),
}
VSCODE_PREFIX_CHARS: Final = 17
"""How much of `mcp_server` VS Code keeps before the underscore and the tool's name."""
MAX_DEPTH: Final = 100
"""A text that lies deeper has the place of the part at this depth: places would grow with the square of the depth."""
UNIONS: Final = {
    "OpenAI": ("anyOf", "oneOf", "allOf", "enum", "not"),
    "Anthropic": ("anyOf", "oneOf", "allOf"),
}


def lint_tool(
    name: str,
    title: str,
    description: str,
    input_schema: dict[str, Any],
    output_schema: dict[str, Any] | None,
    *,
    example: Any = None,
    server: str = "signet",
) -> list[Finding]:
    """Return what real clients refuse of a tool, or lose of it, in the order of its places.

    `example` are the arguments that its page and the lines to paste show. `server` is the name of the server in the
    clients' configuration: some clients count it as part of the name.
    """
    findings = Findings(name)
    _lint_name(name, server, findings)
    _lint_description(description, findings)
    _lint_input(input_schema, findings)
    if output_schema is not None and output_schema.get("type") != "object":
        findings.add("root-not-object", "MCP TypeScript SDK", "/outputSchema")
    texts = [(name, "/name"), (title, "/title"), (description, "/description")]
    texts += texts_of(input_schema, "/inputSchema")
    texts += texts_of(output_schema, "/outputSchema")
    texts += texts_of(example, "/example")
    for text, place in texts:
        for kind in find_secrets(text):
            findings.add(LEAK, ALL_MODELS, place, kind=kind)
    return findings.found


def texts_of(schema: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield each text in a schema with its place: descriptions, defaults, examples, permitted values and the rest."""
    stack = [(schema, place, 0)]
    while stack:
        value, at, depth = stack.pop()
        if isinstance(value, str):
            yield value, at
        elif isinstance(value, dict | list):
            children = value.items() if isinstance(value, dict) else enumerate(value)
            near = depth < MAX_DEPTH
            stack.extend(reversed([(child, at + step(name) if near else at, depth + 1) for name, child in children]))


def _lint_name(name: str, server: str, findings: Findings) -> None:
    for client, pattern in NAMES.items():
        if not pattern.fullmatch(name):
            findings.add("name-characters", client, "/name")
    if name.startswith(("-", ".")) or name.endswith(("-", ".")):
        findings.add("name-edge", "MCP", "/name")
    if name and not re.match(r"[A-Za-z_]", name):
        findings.add("name-start", "Gemini", "/name")
    plain = len(name)
    lengths = {
        "MCP": plain,
        "OpenAI": plain,
        "Anthropic": plain,
        "Gemini": plain,
        "Claude Code": len(f"mcp__{server}__{name}"),
        "Cursor": len(server) + plain,
        "Gemini CLI": len(f"mcp_{server}_{name}"),
        "VS Code": len(f"mcp_{server}"[:VSCODE_PREFIX_CHARS]) + 1 + plain,
    }
    for client, length in lengths.items():
        findings.add_above("name-too-long", client, "/name", length)


def _lint_description(description: str, findings: Findings) -> None:
    length = len(description.strip())
    if not length:
        findings.add("description-missing", ALL_MODELS, "/description")
    elif length < (RULES["description-too-short", ALL_MODELS].limit or 0):
        findings.add("description-too-short", ALL_MODELS, "/description", length=length)
    for client in ("OpenAI", "Claude Code"):
        findings.add_above("description-too-long", client, "/description", len(description))


def _lint_input(schema: dict[str, Any], findings: Findings) -> None:
    if schema.get("type") != "object":
        findings.add("root-not-object", "MCP TypeScript SDK", "/inputSchema")
    for client, keywords in UNIONS.items():
        for keyword in keywords:
            if keyword in schema:
                findings.add("top-level-union", client, f"/inputSchema/{keyword}", keyword=keyword)
    properties = schema.get("properties")
    for name, part in (properties if isinstance(properties, dict) else {}).items():
        if not _is_described(part, schema):
            findings.add("parameter-without-description", ALL_MODELS, f"/inputSchema/properties{step(name)}")
    lint_schema(schema, "/inputSchema", findings)


def _is_described(part: Any, root: dict[str, Any]) -> bool:
    """Return True if a parameter, one of its branches or the definition that it names has a description."""
    if not isinstance(part, dict):
        return False
    reference, defs, branches = part.get("$ref"), root.get("$defs"), part.get("anyOf")
    parts = [part, *(branches if isinstance(branches, list) else ())]
    if isinstance(reference, str) and isinstance(defs, dict):
        parts.append(defs.get(reference.removeprefix("#/$defs/")))
    return any(isinstance(one, dict) and one.get("description") for one in parts)
