"""Wraps other people's servers and compares what they say with what they say directly: `make wrapped-servers`.

For each server: its own words on stdio; then through the wrapper on stdio and over HTTP, in both eras; then recorded,
and replayed offline through both doors in both eras. `--only NAME,NAME` picks servers, `--direct` compares two direct
conversations, which shows what no two runs say alike.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from processes import ROOT
from wrap.callers import ERAS
from wrap.catalogue import SERVERS, Listed
from wrap.transcripts import Transcript, converse, differences, filled
from wrap.wrappers import DIRECT, WRAP, Wrapper, on_http, on_stdio, serving_wrapped

PAGE = ROOT / "docs/wrapped-servers.md"
ROWS = ROOT / "build/wrapped-servers"
"""The folder of the lines of the page; a run of some servers replaces theirs."""
BODY = b"<html><head><title>Page</title></head><body><h1>Page</h1><p>Some words on loopback.</p></body></html>"


LEGS = (
    "stdio handshake", "stdio modern", "HTTP handshake", "HTTP modern", "recorded", "replayed stdio handshake",
    "replayed stdio modern", "replayed HTTP handshake", "replayed HTTP modern",
)  # fmt: skip


class Web(http.server.BaseHTTPRequestHandler):
    """One page, for servers that fetch."""

    def do_GET(self) -> None:
        """Answer with the page."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def web() -> Iterator[str]:
    """Serve the page until the block ends."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()  # its thread would look at the closed socket without end


@dataclass
class Trial:
    """One server in one folder, which is made anew for each conversation."""

    server: Listed
    folder: Path
    page: str
    wrapper: Wrapper = WRAP
    legs: tuple[str, ...] = LEGS
    """The conversations to have."""
    found: dict[str, list[str]] = field(default_factory=dict)
    spoken: dict[str, Transcript] = field(default_factory=dict)
    """What the server says directly, in each era that it speaks."""

    @property
    def places(self) -> dict[str, str]:
        return {"folder": str(self.folder / "files"), "web": self.page}

    @property
    def command(self) -> list[str]:
        return list(filled(list(self.server.command), self.places))

    @property
    def env(self) -> dict[str, str]:
        # The tests hide the machine's authorities from what they start; a wrapped server would not see that.
        return {"SSL_CERT_FILE": "", **filled(dict(self.server.env), self.places)}

    def prepare(self) -> None:
        """Make the files of the server anew."""
        files = self.folder / "files"
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        self.server.prepare(files)

    def flags(self, *more: str) -> Wrapper:
        """Return the wrapper with the flags that this server needs."""
        named = [word for key in self.server.env for word in ("--env", key)]
        return self.wrapper.with_flags(*named, *more)

    def direct(self, era: str) -> Transcript:
        """Return what the server says directly."""
        self.prepare()
        with on_stdio(DIRECT, self.command, era, env=self.env) as caller:
            return converse(caller, self.server, self.places)

    @property
    def speaks(self) -> str:
        return " and ".join(self.spoken)

    def baseline(self) -> None:
        """Find out what the server says, in each era that it speaks."""
        self.spoken["handshake"] = self.direct("handshake")
        with contextlib.suppress(AssertionError):
            self.spoken["modern"] = self.direct("modern")

    def expected(self, era: str) -> Transcript:
        """Return what is to be heard by a caller of an era: the server is spoken to in that era if it can be."""
        return self.spoken.get(era, self.spoken["handshake"])

    def compare(self, leg: str, era: str, wrapper: Wrapper, command: Sequence[str], child_era: str = "") -> None:
        """Have one conversation on stdio, if it is one of the wanted, and keep how it differs."""
        if leg not in self.legs:
            return
        self.prepare()
        try:
            with on_stdio(wrapper, command, era, env=self.env) as caller:
                said = converse(caller, self.server, self.places)
                self.found[leg] = differences(self.expected(child_era or era), said)
        except (AssertionError, OSError) as failure:
            self.found[leg] = [str(failure)[:600]]

    def serve(self, leg: str, wrapper: Wrapper, command: Sequence[str], child_era: str = "") -> None:
        """Have a conversation in each wanted era over HTTP, and keep how they differ."""
        for era in ERAS:
            if f"{leg} {era}" not in self.legs:
                continue
            self.prepare()
            try:
                with serving_wrapped(wrapper, command, env=self.env) as server, on_http(server, era) as caller:
                    said = converse(caller, self.server, self.places)
                    self.found[f"{leg} {era}"] = differences(self.expected(child_era or era), said)
            except (AssertionError, OSError) as failure:
                self.found[f"{leg} {era}"] = [str(failure)[:600]]

    def run(self) -> dict[str, list[str]]:
        """Compare all conversations with the direct one."""
        self.baseline()
        for era in ERAS:
            self.compare(f"stdio {era}", era, self.flags(), self.command)
        self.serve("HTTP", self.flags(), self.command)
        tape = str(self.folder / "tape")
        # A recording is of one era: that of the caller who spoke when it was made.
        self.compare("recorded", "handshake", self.flags("--record", tape), self.command)
        replay = self.wrapper.with_flags("--replay", tape)
        for era in ERAS:
            self.compare(f"replayed stdio {era}", era, replay.ended(), [], "handshake")
        self.serve("replayed HTTP", replay.ended(), [], "handshake")
        return self.found


def version_of(server: Listed) -> str:
    """Return the version of a server's package, as its lock pins it."""
    packages = json.loads((ROOT / "tests/wrap/npm/package.json").read_text(encoding="utf-8"))["dependencies"]
    if server.package in packages:
        return f"npm {packages[server.package]}"
    for lock in ("servers.in", "servers-older.in"):
        for line in (ROOT / "requirements" / lock).read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{server.package}=="):
                return f"PyPI {line.partition('==')[2]}"
    raise AssertionError(f"nothing pins {server.package}")


def row(trial: Trial) -> str:
    """Return the line of a server in the table."""
    said = trial.spoken["handshake"]
    counts = [len(entries) for entries in said.lists.values()]
    good = {leg: not trial.found.get(leg, ["not run"]) for leg in LEGS}
    cells = [
        f"`{trial.server.package}` ({version_of(trial.server)})",
        trial.speaks,
        f"{counts[0]} / {counts[1]} + {counts[2]} / {counts[3]}",
        str(len(said.answers)),
        *("yes" if all(good[leg] for leg in legs) else "**no**" for legs in (LEGS[:2], LEGS[2:4], LEGS[4:])),
    ]
    return f"| {' | '.join(cells)} |"


HEAD = """# Wrapped servers

Other people's servers, from npm and PyPI, behind `signet wrap`. This page is written by `make wrapped-servers`, which
installs the pinned versions, starts each server, and compares what it says through the wrapper with what it says
directly.

- **Lists** (tools / resources + templates / prompts) are compared byte by byte: key order and the spelling of numbers
  too. **Asked** counts the calls, resources and prompts whose whole results are compared; the fields that one era of
  the protocol has and the other has not (`resultType`, `ttlMs`, `cacheScope`, the hop's own `_meta`) are left out.
- **stdio** and **HTTP** stand for a caller of the handshake era (2025-11-25) and one of the modern era (2026-07-28)
  each; the column **speaks** says which eras the server itself speaks. It is spoken to in the caller's, if it can be.
- **Replayed**: the conversation was recorded with `--record` and then played with `--replay`, without the server,
  through both doors in both eras.

| server | speaks | lists | asked | stdio | HTTP | replayed |
|---|---|---|---|---|---|---|
"""


def chosen(names: str) -> tuple[Listed, ...]:
    """Return the servers of these names, or all."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    unknown = set(wanted) - {server.name for server in SERVERS}
    if unknown:
        sys.exit(f"there is no server {', '.join(sorted(unknown))}; there are {', '.join(one.name for one in SERVERS)}")
    return tuple(server for server in SERVERS if not wanted or server.name in wanted)


def tried(server: Listed, page: str, *, direct: bool) -> Trial:
    """Run one server's conversations and print what differs."""
    with tempfile.TemporaryDirectory(prefix="wrapped-") as folder:
        trial = Trial(server, Path(folder), page)
        if direct:
            trial.baseline()
            for era, said in trial.spoken.items():
                trial.found[f"direct again {era}"] = differences(said, trial.direct(era))
        else:
            trial.run()
            ROWS.mkdir(parents=True, exist_ok=True)
            (ROWS / f"{server.name}.txt").write_text(row(trial), encoding="utf-8")
    wrong = {leg: lines for leg, lines in trial.found.items() if lines}
    print(f"{'FAIL' if wrong else 'ok  '} {server.name} ({trial.speaks})", flush=True)
    for leg, lines in wrong.items():
        for line in lines[:6]:
            print(f"     {leg}: {line}", flush=True)
    return trial


def write_page() -> None:
    """Write the page, if every server has been run."""
    rows = [ROWS / f"{server.name}.txt" for server in SERVERS]
    if all(path.exists() for path in rows):
        PAGE.write_text(HEAD + "\n".join(path.read_text(encoding="utf-8") for path in rows) + "\n", encoding="utf-8")


def main() -> int:
    """Run the servers, print what differs, and write the page if all were run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="names of servers, with commas between them")
    parser.add_argument("--direct", action="store_true", help="compare two direct conversations instead")
    options = parser.parse_args()
    with web() as page:
        trials = [tried(server, page, direct=options.direct) for server in chosen(options.only)]
    if not options.direct:
        write_page()
    return int(any(lines for trial in trials for lines in trial.found.values()))


if __name__ == "__main__":
    sys.exit(main())
