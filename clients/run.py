"""Run real clients against the servers, each in its own environment, and write docs/clients.md.

sandboxes ◀── signet stdio or serve ◀── [bridge] ◀── client ◀── probe ── a line for each column ──┐
                └── journal ── has the hanging call ended? ───────────────────────────────────── judge
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from cells import ABSENT, AT_CLOSE, CALLS, COLUMNS, NO, RANK, TOOL, YES, Cell, judge, page, worst
from client import ROOT, Client, InstallError, node, read_clients
from servers import World, bridging, clean_env, free_port, listening, published, sandboxes, stop

PAGE: Final = ROOT / "docs" / "clients.md"
CLIENT_S: Final = 150
"""How long a client may take on one door."""
PATIENCE_S: Final = 5
"""How long a client waits for the call that hangs; some of them wait as long for a server to start."""
LOOK_S: Final = 3
"""How long the runner looks for the end of that call in the journal; the client stays connected a second longer."""
SLOW_S: Final = 12
RESET_S: Final = 8
"""The timeout that progress must hold open: longer than the heartbeat, shorter than the slow call."""
LEFT: Final = "the caller left"
"""What the journal says of a call that its client gave up."""
FAULTS: Final = (
    {"fault": "slow", "delay_s": SLOW_S, "match": CALLS["slow"]["start_date"]},
    {"fault": "hang", "match": CALLS["hang"]["start_date"]},
)
"""What the Bank's sandbox is told: to be slow for one month, and to hang for another."""


def was_left(folder: str, patience_s: float) -> bool:
    """Return True once a journal below a folder shows a call that its client gave up; False if none does in time."""
    deadline = time.monotonic() + patience_s
    while True:
        if any(LEFT in path.read_text(encoding="utf-8") for path in Path(folder).glob("journal/**/*.jsonl")):
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)


def try_door(client: Client, door: str, world: World, command: Sequence[str]) -> dict[str, Cell]:
    """Run a client's probe on one door and return its cells."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        journal = str(Path(folder) / "journal")
        url = stack.enter_context(listening(world.command("serve", journal), folder, "serve"))
        pipe = world.command("stdio", journal)
        plan: dict[str, Any] = {
            "door": door, "url": f"{url}/mcp", "command": pipe, "tool": TOOL, "calls": CALLS,
            "patience_s": PATIENCE_S, "hold_s": LOOK_S + 1, "reset_s": RESET_S,
        }  # fmt: skip
        port = free_port()
        words = {
            "bin": str(client.environment / "bin"), "environment": str(client.environment), "url": plan["url"],
            "port": str(port), "command": shlex.join(pipe), "node": node(),
        }  # fmt: skip
        bridge: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if client.bridge:
            bridge = bridging([word.format(**words) for word in client.bridge], port, folder)
            plan |= {"door": "http", "url": f"http://127.0.0.1:{port}{client.path}"}
        if client.relay:
            plan |= {"door": "stdio", "command": [word.format(**words) for word in client.relay]}
        schemas = published(url)
        with bridge:
            seen, ended, rest = probed((*command, json.dumps(plan)), folder)
        if client.bridge and ended == NO and was_left(folder, LOOK_S):
            ended = AT_CLOSE
    return {
        column: judge(seen[column], schemas, ended) if column in seen else Cell(NO, rest or "the probe said nothing")
        for column in COLUMNS
    }


def probed(command: Sequence[str], folder: str) -> tuple[dict[str, Any], str, str]:
    """Run a probe; return its lines by column, the cell of the hanging call, and the end of stderr."""
    seen: dict[str, Any] = {}
    ended = NO
    errors = Path(folder) / "probe.log"
    with (
        errors.open("wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8",
            cwd=folder, env={**clean_env(), "HOME": folder}, start_new_session=True,
        ) as process,
    ):  # fmt: skip
        guard = threading.Timer(CLIENT_S, stop, (process,))
        guard.start()
        try:
            for value in columns_of(process.stdout or ()):
                seen[value["column"]] = value
                if value["column"] == "cancel" and was_left(folder, LOOK_S):
                    ended = YES
            process.wait()
            # Before what is left of the client's processes is stopped: its server has to end by itself.
            if ended == NO and was_left(folder, LOOK_S):
                ended = AT_CLOSE
        finally:
            guard.cancel()
            stop(process)
    return seen, ended, errors.read_text(encoding="utf-8", errors="replace")[-800:].strip()


def columns_of(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects among a probe's lines; frameworks print lines of their own."""
    for line in lines:
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict) and "column" in value:
                yield value


def try_client(client: Client, world: World, command: Sequence[str] = ()) -> dict[str, Cell]:
    """Run a client on each of its doors and return the worst cell of each column."""
    doors = []
    for door in client.doors:
        try:
            doors.append(try_door(client, door, world, command or client.command))
        except (OSError, RuntimeError) as error:
            doors.append(dict.fromkeys(COLUMNS, Cell(NO, str(error))))
    if len(doors) > 1:
        doors = [at_door(door, cells) for door, cells in zip(client.doors, doors, strict=True)]
    cells = {column: worst([cells[column] for cells in doors]) for column in COLUMNS}
    return {column: explained(client, column, cell) for column, cell in cells.items()}


def at_door(door: str, cells: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the cells with the name of the door in the notes of those that are not as good as can be."""
    return {
        column: cell if cell.word in {YES, ABSENT} else Cell(cell.word, f"on {door}: {cell.note}")
        for column, cell in cells.items()
    }


def explained(client: Client, column: str, cell: Cell) -> Cell:
    """Return the cell with the client's own note, where the note is about this word in this column."""
    expected = client.expected.get(column, {})
    return Cell(cell.word, expected["why"]) if expected.get("word") == cell.word else cell


def is_worse(client: Client, column: str, cell: Cell) -> bool:
    """Return True if a cell is worse than what is expected; a feature that a probe states to be absent is."""
    expected = client.expected.get(column, {}).get("word", YES)
    return cell.word != ABSENT and RANK.index(cell.word) > RANK.index(expected)


def tell(client: Client, cells: Mapping[str, Cell], took_s: float) -> None:
    """Print the line of one client, and why a cell is worse than expected."""
    words = "  ".join(f"{column} {cells[column].word}" for column in COLUMNS)
    print(f"{client.name:18} {words}  ({took_s:.0f} s)", flush=True)
    reasons: dict[str, list[str]] = {}
    for column in COLUMNS:
        if is_worse(client, column, cells[column]):
            reasons.setdefault(cells[column].note[-500:] or "not as expected", []).append(column)
    for reason, columns in reasons.items():
        print(f"    {', '.join(columns)}: {reason}", flush=True)


def run(chosen: Sequence[Client], jobs: int) -> list[tuple[Client, dict[str, Cell]]]:
    """Install and run the clients, several at once; print a line for each as it ends."""
    with tempfile.TemporaryDirectory() as folder, sandboxes(folder, FAULTS) as world:

        def one(client: Client) -> dict[str, Cell]:
            begun = time.monotonic()
            try:
                if client.install():
                    print(f"{client.name:18} installed ({time.monotonic() - begun:.0f} s)", flush=True)
                    begun = time.monotonic()
                cells = try_client(client, world)
            except InstallError as error:
                cells = dict.fromkeys(COLUMNS, Cell(NO, f"not installed: {error}"))
            tell(client, cells, time.monotonic() - begun)
            return cells

        with ThreadPoolExecutor(jobs) as pool:
            return list(zip(chosen, pool.map(one, chosen), strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the clients that are asked for; return 1 if a cell is worse than expected."""
    clients = read_clients()
    parser = argparse.ArgumentParser(description="Run real clients against Signet and write docs/clients.md.")
    parser.add_argument("--only", metavar="NAMES", help="clients to run, separated by commas; the page is not written")
    parser.add_argument("--jobs", type=int, default=4, help="clients to run at once (default: 4)")
    parser.add_argument("--list", action="store_true", help="list the clients and end")
    parser.add_argument("--lock", action="store_true", help="write the lock files anew and end (needs uv and npm)")
    given = parser.parse_args(arguments)
    names = given.only.split(",") if given.only else [client.name for client in clients]
    if unknown := set(names) - {client.name for client in clients}:
        parser.error(f"there is no client {', '.join(sorted(unknown))}; --list shows all")
    chosen = [client for client in clients if client.name in names]
    if given.list or given.lock:
        for client in chosen:
            print(f"{client.name:18} {client.title} {client.version}", flush=True)
            if given.lock:
                client.write_lock()
        return 0
    rows = run(chosen, given.jobs)
    if not given.only:
        PAGE.write_text(page(rows), encoding="utf-8")
    bad = sum(is_worse(client, column, cell) for client, cells in rows for column, cell in cells.items())
    print(f"{len(rows)} clients, {bad} cells worse than expected" if bad else f"{len(rows)} clients, all as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
