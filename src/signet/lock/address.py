"""Addresses: the command line or the URL of a server, without the secrets in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from signet.system.redaction import REDACTED, redact_secrets, redact_shapes, redact_user_info
from signet.system.secret_patterns import is_token, names_secret

__all__ = ["URL", "shown_command", "shown_url"]

URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s\"']+")
FLAG: Final = re.compile(r"(-{0,2})([\w.-]{1,80})(=)?(.*)", re.DOTALL)


def shown_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line without secrets: the values behind their names, and all that are known by their shapes."""
    shown: list[str] = []
    is_secret = False
    for word in words:
        match = FLAG.fullmatch(word)
        has_value = match is not None and names_secret(match[2], "flag")
        if is_secret and not word.startswith("-"):
            shown.append(REDACTED)
            is_secret = False
        elif match is not None and has_value and match[3]:
            shown.append(f"{match[1]}{match[2]}={REDACTED}")
            is_secret = False
        else:
            is_secret = match is not None and has_value and bool(match[1])
            shown.append(REDACTED if is_token(word) else _shown_word(word))
    return tuple(shown)


def _shown_word(word: str) -> str:
    return redact_secrets(redact_user_info(URL.sub(lambda found: shown_url(found[0]), word)))


def shown_url(url: str) -> str:
    """Return a URL without user, password, tokens in its path, the values of its query, and its fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return REDACTED
    query = re.sub(r"=[^&]*", f"={REDACTED}", parts.query) if "=" in parts.query else REDACTED if parts.query else ""
    path = "/".join(REDACTED if is_token(part) else redact_shapes(part) for part in parts.path.split("/"))
    return urlunsplit((parts.scheme, host, path, query, ""))
