"""Secrets: tokens, keys and passwords by their well-known shapes, in the texts of a tool that every model reads. Pure.

A secret is named by its kind alone and never repeated. Each pattern reads a text once: none can begin inside a run of
the characters that it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from signet.kernel.redaction import MIN_CHARS, NAMES

from .findings import step

__all__ = ["find_secrets", "texts_of"]

MAX_DEPTH: Final = 100
"""A text that lies deeper has the place of the part at this depth: places would grow with the square of the depth."""
SHORTEST: Final = 12
"""No secret with its name or its beginning is shorter: most texts of a schema are types and names."""
_START: Final = r"(?<![A-Za-z0-9_-])"
KINDS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("a private key", r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
        ("an API key of OpenAI or Anthropic", _START + r"sk-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{20,}"),
        ("a GitHub token", _START + r"(?:gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
        ("a GitLab token", _START + r"glpat-[A-Za-z0-9_-]{20,}"),
        ("an AWS access key", _START + r"(?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}(?![0-9A-Za-z])"),
        ("a Google API key", _START + r"AIza[A-Za-z0-9_-]{35}"),
        ("a Slack token", _START + r"xox[a-z]-(?=[A-Za-z0-9-]*[0-9])[A-Za-z0-9-]{10,}"),
        ("a Stripe key", _START + r"[rs]k_live_[A-Za-z0-9]{16,}"),
        ("an npm token", _START + r"npm_[A-Za-z0-9]{36}"),
        ("a PyPI token", _START + r"pypi-AgE[A-Za-z0-9_-]{32,}"),
        ("a Hugging Face token", _START + r"hf_[A-Za-z0-9]{30,}"),
        ("a JSON Web Token", _START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    )
)
ADDRESS: Final = re.compile(r"(?<![a-z])[a-z]{2,12}://[^\s/:@]{1,64}:([^\s/:@]{3,128})@")
BEARER: Final = re.compile(r"(?i)(?<![a-z])(?:bearer|basic)[ ]{1,4}([A-Za-z0-9._~+/=-]{16,})")
LABELLED: Final = re.compile(rf"""(?i){NAMES}["']?[ \t]{{0,4}}([:=])[ \t]{{0,4}}["']?([^\s"'`,;&()\[\]]{{6,}})""")
PLACEHOLDER: Final = re.compile(
    r"[<>{}$*…]|\.\.\.|(?i:x{3}|your|example|secret|password|token|changeme|redacted|string)"
)


def find_secrets(text: str) -> list[str]:
    """Return the kinds of secrets in a text, each once: 'a GitHub token', 'a password'."""
    if len(text) < SHORTEST:
        return []
    found = [kind for kind, pattern in KINDS if pattern.search(text)]
    if any(not PLACEHOLDER.search(match[1]) for match in ADDRESS.finditer(text)):
        found.append("a password in an address")
    if any(_is_random(match[1]) for match in BEARER.finditer(text)):
        found.append("an authorization header")
    if not found and any(_is_value(match[1], match[2]) for match in LABELLED.finditer(text)):
        found.append("a password or token")
    return found


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


def _is_random(value: str) -> bool:
    """Return True for a text with digits and letters that is not a placeholder."""
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return mixed and not PLACEHOLDER.search(value)


def _is_value(sign: str, value: str) -> bool:
    """Return True for what follows the name of a secret, unless it is a placeholder or, after a colon, plain words."""
    if sign == ":":
        return len(value) >= MIN_CHARS and _is_random(value)
    return not PLACEHOLDER.search(value) and value.lower() not in {"optional", "required", "boolean", "integer"}
