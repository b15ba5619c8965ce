"""The secrets of a wrapped server: in its command, its URL, its headers and its variables. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from signet.kernel.redaction import REDACTED, SecretRedactor, redact_secrets, redact_user_info
from signet.kernel.secret_shapes import is_token
from signet.kernel.secret_values import NAMES_SECRET, secrets_inside
from signet.lock.address import shown_command, shown_url
from signet.lock.file import DEFAULT_PATH as LOCK_FILE
from signet.upstream.secret_fields import secret_parameters

from .server_name import default_name
from .server_spec import ServerSpec

__all__ = ["lock_words", "secrets_of", "shown_source", "without_secrets"]

SECRET_VARIABLE: Final = re.compile(
    r"(?:.*_)?(?:KEY|AUTH|PASS|PASSPHRASE|PAT|PWD|CREDENTIALS?|DSN)(?:_.*)?", re.IGNORECASE
)
"""Names of variables that mean a secret, beside those that mean one everywhere."""
CONFIG_FILE: Final = "signet.toml"
"""The file that every command reads without being told."""
URL_SIGNS: Final = re.compile(r"[/?&=#]")
LOOKS_RANDOM: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=.-]{20,}")


def secrets_of(spec: ServerSpec) -> tuple[str, ...]:
    """Return the texts that must be written nowhere, the values of headers with and without their scheme."""
    found = list(_hidden(spec.command))
    for _, value in spec.headers:
        found += (value, value.rpartition(" ")[2])
    for name, value in spec.env:
        found += [value] if _is_secret(name, value) else secrets_inside(value)
    for text in (*spec.command, spec.url):
        found += secrets_inside(text)
        found += (part for part in URL_SIGNS.split(text) if is_token(part))
        found += secret_parameters(text)
    return tuple(dict.fromkeys(text for text in found if text.strip()))


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
    means_secret = NAMES_SECRET.fullmatch(name) or SECRET_VARIABLE.fullmatch(name)
    return means_secret is not None or LOOKS_RANDOM.fullmatch(value) is not None


def _hidden(command: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of a command line that are not shown."""
    for word, shown in zip(command, shown_command(command), strict=True):
        start = shown.removesuffix(REDACTED)
        if start != shown and word.startswith(start):
            yield word.removeprefix(start)
