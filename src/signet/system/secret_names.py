"""Names that mean a secret: of fields, settings, headers, flags, variables and parameters. Pure.

This is the only table of names. A name that means a secret in one place may be an ordinary one in another: `sort_key`
is a setting, `X_SORT_KEY` a variable that may hold a key.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal

__all__ = ["NAMES", "NamePlace", "is_open_header", "names_identity", "names_secret"]

NamePlace = Literal["field", "setting", "header", "flag", "variable", "parameter"]
"""Where a name stands: in JSON or a URL of a message; in settings; in the command line or the URL of a server."""

NAMES: Final = r"(?:token|authorization|passw(?:or)?d|secret|api[ _.-]?key|cookie)(?:s|[_-]?values?)?"
"""The last words of names that mean a secret everywhere."""
SETTING: Final = rf".*{NAMES}|x-.*-(?:key|auth)"
VARIABLE: Final = rf"{SETTING}|(?:.*_)?(?:KEY|AUTH|PASS|PASSPHRASE|PAT|PWD|CREDENTIALS?|DSN)(?:_.*)?"
TABLE: Final[dict[NamePlace, str]] = {
    "field": rf"[\w. -]*{NAMES}",
    "setting": SETTING,
    "header": rf".*(?:{NAMES}|[-_](?:key|auth))",
    "flag": rf"{SETTING}|(?:.*[-_])?(?:bearer|pat)",
    "variable": VARIABLE,
    "parameter": rf"{VARIABLE}|.*(?:key|auth|pass|passphrase|pat|pwd|credentials?|sig|signature|jwt)",
}
"""The pattern of the names that mean a secret in each place."""

NAME_WORD: Final = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
WORD_PAIR: Final = 2
PAGE: Final = "page|pagination|paging|continuation|cursor|sync|skip|scroll|resume|start|after|before|offset|delta"
PAGE_TOKEN: Final = rf"(?:(?:next|prev|previous)?(?:{PAGE})|next|prev|previous|progress)tokens?"
"""The last words of a field whose token stands for a place in a list, or for one request in MCP (`progressToken`)."""
CREDENTIALS: Final = frozenset(
    (
        *("access", "api", "app", "auth", "authentication", "bearer", "client", "csrf", "device", "id", "identity"),
        *("jwt", "login", "oauth", "personal", "push", "refresh", "secret", "security", "session", "user", "xsrf"),
    )
)
"""The words before `tokens` in the name of credentials; other names, such as `max_tokens`, are those of numbers."""

IDENTITY: Final = r".*(?:id|ref|name)"
OPEN_HEADERS: Final = frozenset(
    ("accept-charset", "accept-language", "cache-control", "date", "dnt", "from", "origin", "pragma", "referer",
     "user-agent", "via")
)  # fmt: skip


def names_secret(name: str, place: NamePlace = "field") -> bool:
    """Return whether a text under this name is a secret; a field of page tokens or a number of tokens is none."""
    return _pattern(place).fullmatch(name) is not None and not (place == "field" and _counts_or_pages(name))


def names_identity(name: str) -> bool:
    """Return whether a parameter identifies something: answers repeat its value, however random that looks."""
    return re.fullmatch(IDENTITY, name, re.IGNORECASE) is not None


def is_open_header(name: str) -> bool:
    """Return whether a header has no secret, whatever its value looks like."""
    return name.lower() in OPEN_HEADERS


def _counts_or_pages(name: str) -> bool:
    words = [word.lower() for word in re.findall(NAME_WORD, name)][-WORD_PAIR:]
    if any(re.fullmatch(PAGE_TOKEN, spelling) for spelling in (words[-1], "".join(words))):
        return True
    if not words[-1].endswith("tokens"):
        return False
    before = words[-1].removesuffix("tokens") or "".join(words[:-1])
    return before != "" and before not in CREDENTIALS


@cache
def _pattern(place: NamePlace) -> re.Pattern[str]:
    return re.compile(TABLE[place], re.IGNORECASE)
