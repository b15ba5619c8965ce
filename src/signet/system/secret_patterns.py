"""Patterns of secrets, in one table of names and one of shapes. Pure.

names:   of fields, settings, headers, flags, variables and parameters. A name that means a secret in one place may be
         an ordinary one in another: `sort_key` is a setting, `X_SORT_KEY` a variable that may hold a key.
shapes:  private keys, tokens of well-known services, passwords in addresses or after their names

`signet check` names the kinds that it finds; the lock, recordings, the journal and the log remove them. Each pattern
reads a text once: none can begin inside a run of the characters that it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final, Literal

__all__ = [
    "NAMES",
    "OWN_BEGIN",
    "WEB_BEGIN",
    "NamePlace",
    "ends_private_key",
    "find_secrets",
    "is_open_header",
    "is_token",
    "json_names",
    "lines_after_names",
    "looks_random",
    "may_hold_secret",
    "names_identity",
    "names_secret",
    "opens_private_key",
    "parameters",
    "secret_spans",
    "user_info",
    "values_after_names",
]

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
COUNTED: Final = frozenset(
    (
        *("accepted", "audio", "available", "cache", "cached", "candidates", "completion", "consumed", "context"),
        *("count", "creation", "generated", "image", "input", "limit", "max", "maximum", "min", "minimum", "new"),
        *("num", "number", "output", "prediction", "prompt", "read", "reasoning", "rejected", "remaining", "requested"),
        *("response", "sampled", "saved", "text", "thinking", "thoughts", "tool", "total", "usage", "used", "video"),
    )
)
"""The words before `tokens` in the name of a number; other names, such as `bot_tokens`, are those of credentials."""

IDENTITY: Final = r".*(?:id|ref|name)"
OPEN_HEADERS: Final = frozenset(
    ("accept-charset", "accept-language", "cache-control", "date", "dnt", "from", "origin", "pragma", "referer",
     "user-agent", "via")
)  # fmt: skip

PRIVATE_KEY: Final = "a private key"
OWN_BEGIN: Final = "signet_"
"""The beginning of the tokens of Signet itself."""
WEB_BEGIN: Final = "eyJ"
"""The beginning of JSON Web Tokens."""
OWN_FORM: Final = r"(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"
"""The rest of a token of Signet itself, whose beginning other words have too."""
TOKENS: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("an API key of OpenAI or Anthropic", ("sk-",), r"(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    ("a GitHub token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), r"[A-Za-z0-9]{36,}"),
    ("a GitHub token", ("github_pat_",), r"[A-Za-z0-9_]{22,}"),
    ("a GitLab token", ("glpat-",), r"[A-Za-z0-9_-]{20,}"),
    ("an AWS access key", ("AKIA", "ASIA"), r"(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("a Google API key", ("AIza",), r"[A-Za-z0-9_-]{35}"),
    ("a Slack token", ("xox",), r"[a-z]-(?=[A-Za-z0-9-]*[0-9])[A-Za-z0-9-]{10,}"),
    ("a Stripe key", ("sk_live_", "rk_live_"), r"[A-Za-z0-9]{16,}"),
    ("an npm token", ("npm_",), r"[A-Za-z0-9]{36}"),
    ("a PyPI token", ("pypi-",), r"AgE[A-Za-z0-9_-]{32,}"),
    ("a Hugging Face token", ("hf_",), r"[A-Za-z0-9]{30,}"),
    ("a token of Signet", (OWN_BEGIN,), OWN_FORM),
    ("a JSON Web Token", (WEB_BEGIN,), r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
)
"""The tokens of well-known services: kind, how one begins, and the pattern of the rest."""
WHOLE_WORD: Final = r"[\w.~+/=-]{8,}"
"""The rest of a word of a command line that begins as a token does: such a word is not a sentence."""
SHORTEST: Final = 12
"""No secret with its name or its beginning is shorter."""
MIN_VALUE_CHARS: Final = 8
"""The shortest value after a name and a colon."""
ESCAPED: Final = (r"\\[abefnrtv0]", r"\\u[0-9A-Fa-f]{4}", r"\\x[0-9A-Fa-f]{2}", "%[0-9A-Fa-f]{2}")
COLOURED: Final = (r"\[m", r"[\[;][0-9]m", r"[\[;][0-9]{2}m")
BEFORE: Final = "|".join([f"(?<={end})" for end in (*ESCAPED, *COLOURED)])
"""What ends in a letter or a digit before a token and does not belong to it: an escape, or a colour of a terminal."""
ADDRESS: Final = r"(?<![a-z])[a-z]{2,12}://[^\s/:@]{1,64}:([^\s/:@]{3,128})@"
BEARER: Final = rf"(?i)(?=b)(?:(?<![a-z])|{BEFORE})(?:bearer|basic)[ ]{{1,4}}([A-Za-z0-9._~+/=-]{{16,}})"
QUOTE: Final = r"""\\{0,7}["']?"""
"""A quotation mark, escaped as often as JSON is inside of JSON."""
VALUE_CHAR: Final = r"""(?:[^\s"'`,;&()\[\]\\]|\\(?!["'\\]))"""
LABELLED: Final = rf"(?i)({NAMES}){QUOTE}[ \t]{{0,4}}[:=][ \t]{{0,4}}{QUOTE}({VALUE_CHAR}{{6,}})"
PLACEHOLDER: Final = r"[<>{}$*…]|\.\.\.|(?i:x{3}|your|example|secret|password|token|changeme|redacted|string)"
IS: Final = r"""["']?[ \t]*[:=][ \t]*"""
"""The sign between a name and its value."""
REST_OF_LINE: Final = rf"""((?:authorization|cookie)s?{IS}["']?)[^"'\r\n]+"""
AFTER_NAME: Final = rf"""({NAMES}{IS})(?:"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&]+)"""
PARAMETER: Final = (
    rf"((?:[?&]|%3f|%26|&amp;|\\u0026)([\w.-]{{0,40}}{NAMES})(?:=|%3d))((?:(?!%26)[^&# \t\r\n\f\v\"'\\<>])*)"
)
HEADER: Final = r"((authorization)\s*:\s*(?:bearer|basic|digest)\s+)([^ \t\r\n\f\v\"'\\<>]+)"
JSON_NAME: Final = rf'"([\w. -]{{0,40}}{NAMES})"\s*:\s*'
USER_INFO: Final = r"(?<=://)[^/\s@']+(?=@)"
RANDOM: Final = r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=.-]{20,}"
KEY_BEGINS: Final = "-----BEGIN "
KEY_ENDS: Final = "-----END "
KEY_LABEL: Final = r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
DASHES: Final = "-----"
WORDS: Final = ("token", "authorization", "passw", "secret", "cookie", "key", "bearer ", "basic ")
"""A part of each name of a secret, in small letters."""
MARKS: Final = (KEY_BEGINS, "://", *[start for _, starts, _ in TOKENS for start in starts])
"""How a secret without a name begins."""
BYTE_MARKS: Final = tuple(map(str.encode, MARKS))
BYTE_WORDS: Final = tuple(map(str.encode, WORDS))
WINDOW_CHARS: Final = 16_384
"""The part of a text that is searched at once, since a search holds the interpreter."""
OVERLAP_CHARS: Final = 1_024
"""The end of one part that is searched again with the next one: longer than a token with its name."""

MAX_LABEL_CHARS: Final = 40
Accepts = Callable[[re.Match[str], str], bool]
"""Whether the value in a match is a secret."""


def names_secret(name: str, place: NamePlace = "field") -> bool:
    """Return whether a text under this name is a secret; a field of page tokens or a number of tokens is none."""
    return _names_pattern(place).fullmatch(name) is not None and not (place == "field" and _counts_or_pages(name))


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
    return (words[-1].removesuffix("tokens") or "".join(words[:-1])) in COUNTED


def may_hold_secret(text: str | bytes) -> bool:
    """Return False if a text holds no secret for certain; the check is quick."""
    if isinstance(text, bytes):
        lowered_bytes = text.lower()
        return any(mark in text for mark in BYTE_MARKS) or any(word in lowered_bytes for word in BYTE_WORDS)
    lowered = text.lower()
    return any(mark in text for mark in MARKS) or any(word in lowered for word in WORDS)


def is_token(word: str) -> bool:
    """Return True if a word of a command line or of a path begins as the token of a well-known service does."""
    return _whole_word().fullmatch(word) is not None


def find_secrets(text: str) -> list[str]:
    """Return the kinds of secrets in a text, each once: 'a GitHub token', 'a password in an address'."""
    found = list(dict.fromkeys(kind for kind, _, _ in _found(text)))
    # The token after a name is a token, and is not named twice.
    return [kind for kind in found if kind != NAMED] or found


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Return the places of all secrets in a text, in order; places that overlap are one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for _, start, end in _found(text)):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _found(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind and the place of each secret, some of them twice."""
    if len(text) < SHORTEST or not may_hold_secret(text):
        return
    yield from ((PRIVATE_KEY, start, end) for start, end in _private_keys(text))
    for start in range(0, len(text), WINDOW_CHARS):
        begin, end = max(start - OVERLAP_CHARS, 0), min(start + WINDOW_CHARS, len(text))
        for kind, pattern, accepts in _patterns():
            for match in pattern.finditer(text, begin, end):
                if accepts(match, match[match.lastindex or 0]):
                    first, last = match.span(match.lastindex or 0)
                    yield kind, first, _end_of_run(text, last) if last == end else last


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of private keys; one without an end reaches to the end of the text."""
    at = text.find(KEY_BEGINS)
    while at >= 0:
        end = at + 1
        if _key_label().match(text, at):
            closing = text.find(KEY_ENDS, at)
            closed = text.find(DASHES, closing + len(KEY_ENDS)) if closing >= 0 else -1
            end = closed + len(DASHES) if closed >= 0 else len(text)
            yield at, end
        at = text.find(KEY_BEGINS, end)


def opens_private_key(line: str) -> bool:
    """Return True if a private key begins in a line and does not end there."""
    at = line.rfind(KEY_BEGINS)
    return at >= 0 and _key_label().match(line, at) is not None and not ends_private_key(line[at:])


def ends_private_key(line: str) -> bool:
    """Return True if a private key ends in a line."""
    return KEY_ENDS in line


def looks_random(value: str) -> bool:
    """Return True for a long value of letters and digits, such as a key of a service without a known shape."""
    return _random().fullmatch(value) is not None


def _end_of_run(text: str, at: int) -> int:
    """Return the end of a value that goes on beyond the part of the text in which it was found."""
    match = _run().match(text, at)
    return match.end() if match is not None else at


def _any(_match: re.Match[str], _value: str) -> bool:
    return True


def _is_password(_match: re.Match[str], value: str) -> bool:
    return not _placeholder().search(value)


def _is_random(_match: re.Match[str], value: str) -> bool:
    """Return True for a value with digits and letters that is not a placeholder."""
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return mixed and not _placeholder().search(value)


def _is_value(match: re.Match[str], value: str) -> bool:
    """Return True for the value after the name of a secret, unless it is a placeholder or, after a colon, words."""
    if not names_secret(_label(match)):
        return False
    if match[0][: -len(value)].rstrip(" \t\\\"'").endswith(":"):
        return len(value) >= MIN_VALUE_CHARS and _is_random(match, value)
    return _is_password(match, value) and value.lower() not in {"optional", "required", "boolean", "integer"}


def _label(match: re.Match[str]) -> str:
    """Return the whole name before a value: `next_page_token`, not `token`."""
    text, start = match.string, match.start()
    least = max(start - MAX_LABEL_CHARS, 0)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
        start -= 1
    return text[start : match.end(1)]


def _pattern_of(starts: tuple[str, ...], rest: str) -> str:
    """Return the pattern of a token; it looks for the start first, which few places of a text have."""
    start = "|".join(map(re.escape, starts))
    return rf"(?={start})(?:(?<![A-Za-z0-9_-])|{BEFORE})(?:{start}){rest}"


NAMED: Final = "a password or token"
SHAPES: Final[tuple[tuple[str, str, Accepts], ...]] = (
    ("a password in an address", ADDRESS, _is_password),
    ("an authorization header", BEARER, _is_random),
    (NAMED, LABELLED, _is_value),
)
"""The shapes beside tokens: kind, pattern, and which matches count; the last group of a pattern is the secret."""


# Compiled on first use: most processes never look for a secret.
@cache
def _names_pattern(place: NamePlace) -> re.Pattern[str]:
    return re.compile(TABLE[place], re.IGNORECASE)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str], Accepts], ...]:
    tokens = [(kind, _pattern_of(starts, rest), _any) for kind, starts, rest in TOKENS]
    return tuple([(kind, re.compile(pattern), accepts) for kind, pattern, accepts in (*tokens, *SHAPES)])


@cache
def _whole_word() -> re.Pattern[str]:
    known = (
        f"{re.escape(start)}{OWN_FORM if rest == OWN_FORM else WHOLE_WORD}"
        for _, starts, rest in TOKENS
        for start in starts
    )
    return re.compile("|".join(known))


@cache
def _placeholder() -> re.Pattern[str]:
    return re.compile(PLACEHOLDER)


@cache
def lines_after_names() -> re.Pattern[str]:
    """Return the pattern of a secret that reaches to the end of its line; the first group is all before it."""
    return re.compile(REST_OF_LINE, re.IGNORECASE)


@cache
def values_after_names() -> re.Pattern[str]:
    """Return the pattern of a secret that is one value after its name; the first group is all before it."""
    return re.compile(AFTER_NAME, re.IGNORECASE)


@cache
def parameters(*, or_headers: bool = False) -> re.Pattern[str]:
    """Return the pattern of a parameter of a URL, or of a header too: all before the value, the name, the value."""
    return re.compile(f"{PARAMETER}|{HEADER}" if or_headers else PARAMETER, re.IGNORECASE)


@cache
def json_names() -> re.Pattern[str]:
    """Return the pattern of the name of a JSON field in any text; the group is the name."""
    return re.compile(JSON_NAME, re.IGNORECASE)


@cache
def user_info() -> re.Pattern[str]:
    """Return the pattern of the name and the password before the host of a URL."""
    return re.compile(USER_INFO)


@cache
def _random() -> re.Pattern[str]:
    return re.compile(RANDOM)


@cache
def _key_label() -> re.Pattern[str]:
    return re.compile(KEY_LABEL)


@cache
def _run() -> re.Pattern[str]:
    return re.compile(r"""[^\s"'`,;&()\[\]]*""")
