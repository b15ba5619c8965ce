"""The secrets of a wrapped server: in its command, its URL, its headers and its variables. Pure."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from signet.lock.address import URL, shown_command, shown_url
from signet.lock.file import DEFAULT_PATH as LOCK_FILE
from signet.settings.server_name import default_name
from signet.settings.server_spec import ServerSpec
from signet.system.recording_redactor import secret_parameters
from signet.system.redaction import MIN_CHARS, REDACTED, SecretRedactor, redact_secrets, redact_user_info
from signet.system.secret_patterns import is_open_header, is_token, looks_random, names_identity, names_secret
from signet.system.secret_values import secrets_inside

__all__ = ["echoed_secrets", "lock_words", "secrets_of", "shown_source", "without_secrets"]

CONFIG_FILE: Final = "signet.toml"
"""The file that every command reads without being told."""
URL_SIGNS: Final = re.compile(r"[/?&=#]")
PLACE: Final = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@ -]+)+/?")
"""A path, as some variables with the name of a secret have one: `SSH_AUTH_SOCK`, `PWD`."""


def secrets_of(spec: ServerSpec) -> tuple[str, ...]:
    """Return the texts that must be written nowhere, the values of headers with and without their scheme."""
    found = [*_hidden(spec.command), *echoed_secrets(spec)]
    for _, value in spec.headers:
        found += (value, value.rpartition(" ")[2])
    for name, value in spec.env:
        found += [value] if _is_secret(name, value) else secrets_inside(value)
    for text in (*spec.command, spec.url):
        found += secrets_inside(text)
        found += (part for part in URL_SIGNS.split(text) if is_token(part))
        found += secret_parameters(text)
    return tuple(dict.fromkeys(text for text in found if text.strip()))


def echoed_secrets(spec: ServerSpec) -> tuple[str, ...]:
    """Return the texts that callers must not get although the server may repeat them.

    They are fewer than those that are written nowhere: a server's answers must keep everything that is not secret.
    """
    found: list[str] = []
    for name, value in spec.headers:
        if not is_open_header(name):
            found += _spellings(value)
    for name, value in spec.env:
        if names_secret(name, "variable") and not PLACE.fullmatch(value):
            found += _spellings(value)
    for hidden in _hidden(spec.command):
        found += _spellings(hidden)
    for text in (*spec.command, spec.url):
        for url in URL.findall(text):
            found += _of_url(url)
    return tuple(dict.fromkeys(text for text in found if len(text.strip()) >= MIN_CHARS))


def _spellings(value: str) -> Iterator[str]:
    """Yield the value of a header or a variable, and what it has inside: a token, a password, the values of cookies."""
    yield value
    scheme, _, rest = value.strip().rpartition(" ")
    yield rest
    if scheme.lower().endswith("basic"):
        yield from _decoded(rest)
    if "=" in value and (";" in value or not scheme):
        yield from (part.strip().partition("=")[2] for part in value.split(";"))


def _decoded(credentials: str) -> Iterator[str]:
    """Yield the name and the password of Basic authentication, and the password alone."""
    try:
        pair = b64decode(credentials, validate=True).decode()
    except ValueError:
        return
    yield pair
    yield pair.partition(":")[2]


def _of_url(text: str) -> Iterator[str]:
    """Yield the keys in a URL: its user, its password, its tokens, and the values of parameters that mean a secret."""
    try:
        query = urlsplit(text).query
        pairs = parse_qsl(query)
    except ValueError:
        return
    for info in secrets_inside(text):
        yield info
        yield b64encode(info.encode()).decode() if ":" in info else ""  # as clients send it
    yield from (part for part in URL_SIGNS.split(text) if is_token(part))
    raw = dict(pair.partition("=")[::2] for pair in query.split("&"))
    for name, value in pairs:
        if names_secret(name, "parameter") or (looks_random(value) and not names_identity(name)):
            yield value
            yield raw.get(name, "")


def without_secrets(spec: ServerSpec, sentence: str) -> str:
    """Return a sentence that people may read: it may end with words of the server, which may be its own key."""
    return redact_secrets(SecretRedactor(secrets_of(spec)).text(sentence))


def shown_source(spec: ServerSpec) -> str:
    """Return the command or the URL of a server without secrets."""
    if not spec.command:
        return shown_url(spec.url)
    from shlex import join

    return join(shown_command(spec.command))


def lock_words(specs: Sequence[ServerSpec], lock_file: str, environ: Mapping[str, str]) -> list[str] | None:
    """Return the words behind `signet lock` that name some servers, without secrets; None if no command can ask them.

    Servers of a file are named by it, and a single one also by its name.
    """
    asked = [spec for spec in specs if spec.command or spec.url]
    if not asked or len({spec.config for spec in asked}) > 1:
        return None
    lock = [] if lock_file == LOCK_FILE else ["--lock-file", lock_file]
    first = asked[0]
    if first.config:
        file = [] if first.config == CONFIG_FILE else ["--config", first.config]
        return [*lock, *file, *(["--name", first.name] if len(specs) == 1 else [])]
    name = [] if first.name == default_name(first.command, first.url) else ["--name", first.name]
    era = [] if first.era == "auto" else ["--era", first.era]
    if first.url:
        headers = ["--header-file", first.header_file] if first.header_file else []
        return [*lock, *name, *era, "--url", shown_url(first.url), *headers]
    env = [word for pair in first.env for word in ("--env", _shown_variable(*pair, environ))]
    return [*lock, *name, *era, *env, "--", *shown_command(first.command)]


def _shown_variable(name: str, value: str, environ: Mapping[str, str]) -> str:
    """Return a variable as `--env` takes it: by its name if it is set here, else with its value."""
    if environ.get(name) == value:
        return name
    return f"{name}={REDACTED if _is_secret(name, value) else redact_secrets(redact_user_info(value))}"


def _is_secret(name: str, value: str) -> bool:
    """Return True for a variable whose name means a secret, or whose value looks like one."""
    return names_secret(name, "variable") or looks_random(value)


def _hidden(command: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of a command line that are not shown."""
    for word, shown in zip(command, shown_command(command), strict=True):
        start = shown.removesuffix(REDACTED)
        if start != shown and word.startswith(start):
            yield word.removeprefix(start)
