"""signet.toml: settings, limits and servers, to values with origins, or to a refusal that repeats no secret."""

from __future__ import annotations

import contextlib
import os
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fuzz.odd_values import text
from fuzz.target import Run, Target, expect
from signet.operations.limits.table import read_limits
from signet.settings.file import find_file, read_toolsets
from signet.settings.model import Settings
from signet.settings.reading import read_configuration
from signet.settings.servers import read_servers
from signet.settings.usage import UsageError

__all__ = ["TARGET"]

SECRET = "s3cr3tOfTheFuzzer"
ONLY_AS_TOKEN = re.compile(rb"^token *= *[\"'][^\"'\n]*[\"'] *$", re.MULTILINE)
KEYS = (
    "port",
    "host",
    "toolsets",
    "token",
    "log",
    "log_dir",
    "journal",
    "validation",
    "call_timeout_s",
    "workers",
    "allowed-hosts",
    "rate_limit",
    "config",
    "x",
    '"a.b"',
    "",
)
VALUES = (
    "8080", "0", "-1", "65536", "1.5", "1e400", "inf", "nan", "true", '"127.0.0.1"', '"unix:/tmp/x"', '"off"',
    '"warn"', '["plantuml"]', '["a", 1]', "[]", "{}",
    "{a = 1}", '"10/s"', '"1/m"', "2026-01-01", "07:32:00", "0x1F", "1_000", "'''a\nb'''", '"""\\\n a"""',
    '"\\u00e9"', '"\\uD800"', f'"{SECRET}"', f"'{SECRET}\\'",
)  # fmt: skip
TABLES = (
    "settings.boj", "settings.oj", "settings.plantuml", "settings.x", "settings", "limits",
    "limits.tools.plantuml_encode", 'limits.tools."plantuml.encode"',
    "limits.principals.alice", "servers.a", "servers.b", "servers.A!", "servers", "[servers]", "x", "servers.a.env",
    "servers.a.validation",
)  # fmt: skip
LINES = (
    'command = "x"', 'command = ["x", "y"]', 'url = "https://a.example/mcp"', 'args = ["a"]', 'env = ["NOPE"]',
    'env = {A = "b"}', "env = {A = 1}", 'era = "modern"',
    'pool = "call"', 'validation = "off"', 'validation = {t = "off"}', "call_timeout_s = 5", 'tape = "x"',
    'openapi = "a.json"', 'headers_file = "signet.toml"',
    'rate = "10/s"', "concurrent = 5", "base_url = 'https://x'", "retry_max = 3", "cwd = '.'", "include = ['tag:a']",
    "contracts = 5",
)  # fmt: skip
TOKENS = tuple(one.encode() for one in (*KEYS, *VALUES, *LINES)) + tuple(f"\n[{one}]\n".encode() for one in TABLES) + (
    b"=", b".", b"[", b"]]", b'"', b"'''", b"\n", b"\r", b"#", b"\0", b"\xff", b"\xef\xbb\xbf", b"a.b.c.d.e",
    f"\ntoken = '{SECRET}'\n".encode(),
)  # fmt: skip


def _generate(chance: random.Random) -> bytes:
    lines = [f"{chance.choice(KEYS)} = {chance.choice(VALUES)}" for _ in range(chance.choice((0, 1, 1, 2)))]
    if chance.random() < 0.3:
        lines.append(f'token = "{SECRET}"')
    for table in chance.sample(TABLES, chance.choice((0, 1, 1, 2))):
        lines.append(f"[{table}]")
        lines += [
            chance.choice(LINES) if chance.random() < 0.8 else f"{chance.choice(KEYS)} = {chance.choice(VALUES)}"
            for _ in range(chance.choice((0, 1, 2)))
        ]
    if chance.random() < 0.1:
        lines.append(text(chance))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _seeds() -> list[bytes]:
    own = 'port = 9000\ntoolsets = ["plantuml", "boj"]\n[settings.boj]\nretry_max = 3\n'
    whole = own + '[limits]\nrate = "10/s"\n[servers.files]\ncommand = ["x"]\n'
    return [whole.encode(), *[f"{key} = {value}".encode() for key in KEYS[:12] for value in VALUES[:12]][::5]]


class _Files:
    """A folder with one file of settings."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder / "signet.toml")

    def run(self, data: bytes) -> None:
        """Read an input as a file of settings, by all that read one."""
        Path(self._path).write_bytes(data)
        flags = {"config": self._path, "toolsets": "plantuml"}
        for read in (self._settings, self._parts):
            try:
                read(flags)
            except UsageError as error:
                told = str(error)
                expect(told.strip(), "a refusal says something")
                if ONLY_AS_TOKEN.sub(b"", data).find(SECRET.encode()) < 0:
                    expect(SECRET not in told, "a refusal repeats no secret", told)

    def _settings(self, flags: dict[str, str]) -> None:
        found = read_configuration({}, flags)
        expect(
            isinstance(found.settings, Settings) and found.settings.toolsets == "plantuml",
            "a flag is stronger than the file",
        )
        expect(all(one.place for one in found.given.values()), "a value has an origin")

    def _parts(self, flags: dict[str, str]) -> None:
        file = find_file({}, flags)
        if file is None:
            return
        for read in (read_toolsets, lambda file: read_servers(file, {}), read_limits):
            with contextlib.suppress(UsageError):
                read(file)
        read_servers(file, {})


@contextlib.contextmanager
def _open() -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="signet-fuzz-") as folder:
        before = Path.cwd()
        # Paths in the file are seen from its folder, and others from here.
        os.chdir(folder)
        try:
            yield _Files(Path(folder)).run
        finally:
            os.chdir(before)


TARGET = Target(
    name="toml",
    about="signet.toml: settings, limits and servers",
    open=_open,
    seeds=_seeds,
    generate=_generate,
    tokens=TOKENS,
    rooms=("operations/limits/policy", "operations/limits/table", "settings/"),
    per_byte_s=60e-6,
)
