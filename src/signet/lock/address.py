"""Addresses: the command line or the URL of a server, without the secrets in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from signet.kernel.redaction import REDACTED, redact_labelled, redact_user_info
from signet.kernel.secret_values import NAMES_SECRET

__all__ = ["shown_command", "shown_url"]

FLAG: Final = re.compile(r"(-{0,2})([\w.-]{1,80})(=)?(.*)", re.DOTALL)
KNOWN_FORMS: Final = re.compile(
    r"^(?:sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abp]-|AKIA|AIza|npm_|pypi-|hf_|eyJ[A-Za-z0-9_-]{10})[\w.~+/=-]{8,}$"
)
"""The forms of the tokens of well-known services."""


def shown_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line in which the values behind the names of secrets are redacted."""
    shown: list[str] = []
    is_secret = False
    for word in words:
        match = FLAG.fullmatch(word)
        names_secret = match is not None and NAMES_SECRET.fullmatch(match[2]) is not None
        if is_secret and not word.startswith("-"):
            shown.append(REDACTED)
            is_secret = False
        elif match is not None and names_secret and match[3]:
            shown.append(f"{match[1]}{match[2]}={REDACTED}")
            is_secret = False
        else:
            is_secret = match is not None and names_secret and bool(match[1])
            shown.append(REDACTED if KNOWN_FORMS.match(word) else _shown_word(word))
    return tuple(shown)


def _shown_word(word: str) -> str:
    return shown_url(word) if "://" in word and not word.startswith("-") else redact_labelled(redact_user_info(word))


def shown_url(url: str) -> str:
    """Return a URL without user, password, the values of its query, and its fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return REDACTED
    query = re.sub(r"=[^&]*", f"={REDACTED}", parts.query) if "=" in parts.query else REDACTED if parts.query else ""
    return urlunsplit((parts.scheme, host, parts.path, query, ""))
