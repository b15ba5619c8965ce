"""The secrets of a wrapped server: in its command, its URL, its headers and its variables. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from signet.kernel.redaction import REDACTED, redact_user_info
from signet.kernel.secret_values import NAMES_SECRET, secrets_inside
from signet.upstream.cassette_folder import IN_TARGET

from .server_spec import ServerSpec

__all__ = ["secrets_of", "shown_source"]

SECRET_VARIABLE: Final = re.compile(
    r"(?:.*_)?(?:KEY|AUTH|PASS|PASSPHRASE|PAT|PWD|CREDENTIALS?|DSN)(?:_.*)?", re.IGNORECASE
)
"""Names of variables that mean a secret, beside those that mean one everywhere."""
LOOKS_RANDOM: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=.-]{20,}")
FLAG: Final = re.compile(r"(--?[A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)


def secrets_of(spec: ServerSpec) -> tuple[str, ...]:
    """Return the texts that must be written nowhere, the values of headers with and without their scheme."""
    found = [value for _, value in _flags(spec.command)]
    for _, value in spec.headers:
        found += (value, value.rpartition(" ")[2])
    for name, value in spec.env:
        is_secret = NAMES_SECRET.fullmatch(name) or SECRET_VARIABLE.fullmatch(name) or LOOKS_RANDOM.fullmatch(value)
        found += [value] if is_secret else secrets_inside(value)
    for text in (*spec.command, spec.url):
        found += secrets_inside(text)
        found += (match[0].partition("=")[2] for match in IN_TARGET.finditer(text))
    return tuple(dict.fromkeys(text for text in found if text.strip()))


def shown_source(spec: ServerSpec) -> str:
    """Return the command or the URL of a server without secrets."""
    if not spec.command:
        return _shown(spec.url or spec.openapi or spec.tape)
    from shlex import join

    words = list(spec.command)
    for index, value in _flags(spec.command):
        words[index] = words[index].removesuffix(value) + REDACTED
    return join(map(_shown, words))


def _shown(text: str) -> str:
    return IN_TARGET.sub(rf"\1{REDACTED}", redact_user_info(text))


def _flags(command: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the secret values that flags of a command have, and where they are."""
    for index, word in enumerate(command):
        match = FLAG.fullmatch(word)
        if match is None or NAMES_SECRET.fullmatch(match[1]) is None:
            continue
        if match[2] is not None:
            yield index, match[2]
        elif index + 1 < len(command) and not command[index + 1].startswith("-"):
            yield index + 1, command[index + 1]
