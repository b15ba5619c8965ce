"""A docstring as a tool's description, and the texts of its parameters. Pure."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Final

__all__ = ["read_docstring"]

SECTION: Final = re.compile(r"(?:Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Note|Notes):\s*", re.ASCII)
"""The head of a section, alone in its line."""
ENTRY: Final = re.compile(r"(\s+)\*{0,2}(\w+)\s*(?:\([^()]*\))?:\s*(.*)")
FIELD: Final = re.compile(r":param(?:\s+[\w\[\], |.]+)?\s+(\w+):\s*(.*)")
ANY_FIELD: Final = re.compile(r":(?:param|type|returns?|rtype|raises)\b.*:")
PARAMETERS: Final = ("Args", "Arguments", "Parameters")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Return the description, without its sections, and what is said of each parameter."""
    described: list[str] = []
    parameters: dict[str, list[str]] = {}
    section, entry, indent = "", None, 0
    for line in cleandoc(text or "").splitlines():
        if SECTION.fullmatch(line):
            section, entry = line.rstrip(" :"), None
        elif field := FIELD.fullmatch(line):
            section, entry, indent = "Args", parameters.setdefault(field[1], []), 0
            entry.append(field[2])
        elif ANY_FIELD.match(line):
            section, entry = "fields", None
        elif not section:
            described.append(line)
        elif section in PARAMETERS:
            depth = len(line) - len(line.lstrip())
            found = ENTRY.fullmatch(line)
            if found and (entry is None or depth <= indent):
                entry, indent = parameters.setdefault(found[2], []), depth
                entry.append(found[3])
            elif entry is not None and line.strip():
                entry.append(line.strip())
        if section and line and not line[0].isspace() and not SECTION.fullmatch(line) and not line.startswith(":"):
            # Text at the margin ends a section.
            section = ""
            described.append(line)
    joined = {name: " ".join(filter(None, lines)) for name, lines in parameters.items()}
    return _paragraphs(described), {name: text for name, text in joined.items() if text}


def _paragraphs(lines: list[str]) -> str:
    """Return text with one line for each paragraph; indented lines, such as lists, stay as they are."""
    paragraphs: list[str] = []
    for line in lines:
        if not line.strip():
            paragraphs.append("")
        elif paragraphs and paragraphs[-1] and not line[0].isspace() and line[0] not in "-*":
            paragraphs[-1] += " " + line.strip()
        else:
            paragraphs.append(line.rstrip())
    return "\n".join(paragraphs).strip().replace("\n\n\n", "\n\n")
