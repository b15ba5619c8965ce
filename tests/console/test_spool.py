"""The spool: what processes tell each other in files, whatever becomes of the files."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from signet.console import spool as module
from signet.console.spool import SharedSpool, Spool, spool_folder
from signet.settings.model import Settings

TELL = """
import sys
from signet.console.spool import SharedSpool
spool = SharedSpool(sys.argv[1])
spool.publish("record", [word.encode() for word in sys.argv[2:]])
"""


def tell_elsewhere(folder: Path, *words: str) -> None:
    """Publish lines from a process that ends."""
    subprocess.run([sys.executable, "-c", TELL, str(folder), *words], check=True)


def test_one_process_has_nobody_to_tell() -> None:
    spool = Spool()

    spool.publish("record", [b"1"])

    assert list(spool.others("record")) == []
    assert not spool.is_shared


def test_each_reads_what_others_have_told_from_the_start_and_then_what_is_new(tmp_path: Path) -> None:
    one, other = SharedSpool(str(tmp_path)), SharedSpool(str(tmp_path))
    one.publish("record", [b"1", b"2"])
    one.publish("health", [b"9"])

    assert list(other.others("record")) == [b"1", b"2"]
    assert list(other.others("record")) == []
    one.publish("record", [b"3"])
    assert list(other.others("record")) == [b"3"]
    assert list(other.others("health")) == [b"9"]
    assert list(one.others("record")) == [], "nobody reads its own lines"


def test_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    (tmp_path / "7-ab.record.1.jsonl").write_bytes(b"1\n2")
    spool = SharedSpool(str(tmp_path))

    first = list(spool.others("record"))
    with (tmp_path / "7-ab.record.1.jsonl").open("ab") as file:
        file.write(b"3\n")

    assert (first, list(spool.others("record"))) == ([b"1"], [b"23"])


def test_files_are_private_and_their_size_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 100)
    one, other = SharedSpool(str(tmp_path)), SharedSpool(str(tmp_path))

    for number in range(200):
        one.publish("record", [b"%03d" % number])

    files = list(tmp_path.glob("*.jsonl"))
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) <= 2 * 104
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    kept = list(other.others("record"))
    assert kept == [b"%03d" % number for number in range(200 - len(kept), 200)], "the latest, in their order"
    one.publish("record", [b"last"])
    assert list(other.others("record")) == [b"last"]


def test_what_an_ended_process_has_told_is_read_on_and_few_of_those_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ENDED", 2)
    running = SharedSpool(str(tmp_path))
    running.publish("record", [b"0"])
    for word in "1234":
        tell_elsewhere(tmp_path, word)

    newcomer = SharedSpool(str(tmp_path))
    assert set(newcomer.others("record")) == {b"0", b"1", b"2", b"3", b"4"}
    newcomer.publish("record", [b"5"])

    assert set(SharedSpool(str(tmp_path)).others("record")) == {b"0", b"3", b"4", b"5"}


def test_a_folder_that_is_gone_is_no_reason_to_fail(tmp_path: Path) -> None:
    spool = SharedSpool(str(tmp_path / "spool"))
    spool.publish("record", [b"1"])
    (tmp_path / "spool").mkdir()
    other = SharedSpool(str(tmp_path / "spool"))
    spool.publish("record", [b"2"])
    assert list(other.others("record")) == [b"2"]

    shutil.rmtree(tmp_path / "spool")

    spool.publish("record", [b"3"])
    assert list(other.others("record")) == []


def test_a_full_disk_loses_lines_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool, other = SharedSpool(str(tmp_path)), SharedSpool(str(tmp_path))
    spool.publish("record", [b"1"])

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "write", refuse)
        spool.publish("record", [b"2"])
    spool.publish("record", [b"3"])

    assert list(other.others("record")) == [b"1", b"3"]


def test_the_folder_lives_as_long_as_the_server_and_those_of_killed_ones_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "signet-console-left"
    left.mkdir()
    (left / "owner").touch()

    with spool_folder(Settings(workers=2)) as first, spool_folder(Settings(workers=2)) as second:
        made = {first.console_dir, second.console_dir}
        assert {str(path) for path in tmp_path.iterdir()} == made
        assert {stat.S_IMODE(Path(path).stat().st_mode) for path in made} == {0o700}

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("settings", [Settings(workers=1), Settings(workers=2, console=False)])
def test_without_others_or_a_console_there_is_no_folder(settings: Settings) -> None:
    with spool_folder(settings) as same:
        assert same.console_dir == ""
