"""The secrets of a wrapped server: in its command, its URL, its headers and its variables. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from signet.kernel.redaction import REDACTED
from signet.kernel.secret_values import NAMES_SECRET, secrets_inside
from signet.lock.address import shown_command, shown_url
from signet.upstream.cassette_folder import IN_TARGET

from .server_spec import ServerSpec

__all__ = ["secrets_of", "shown_source"]

SECRET_VARIABLE: Final = re.compile(
    r"(?:.*_)?(?:KEY|AUTH|PASS|PASSPHRASE|PAT|PWD|CREDENTIALS?|DSN)(?:_.*)?", re.IGNORECASE
)
"""Names of variables that mean a secret, beside those that mean one everywhere."""
LOOKS_RANDOM: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=.-]{20,}")


def secrets_of(spec: ServerSpec) -> tuple[str, ...]:
    """Return the texts that must be written nowhere, the values of headers with and without their scheme."""
    found = list(_hidden(spec.command))
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
        return shown_url(spec.url)
    from shlex import join

    return join(shown_command(spec.command))


def _hidden(command: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of a command line that are not shown."""
    for word, shown in zip(command, shown_command(command), strict=True):
        start = shown.removesuffix(REDACTED)
        if start != shown and word.startswith(start):
            yield word.removeprefix(start)
