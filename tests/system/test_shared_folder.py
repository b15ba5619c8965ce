"""Shared folders: what a killed process leaves behind is removed, and what a living one uses stays."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planted_files import OBSTACLES, obstruct
from signet.system.files import lock
from signet.system.shared_folder import SharedFolder, hold_mark, is_marked, mark

PREFIX = "signet-test-"


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let the folder for temporary files be that of the test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


MAKER = """
import sys, tempfile
from signet.system.shared_folder import SharedFolder
tempfile.tempdir = sys.argv[1]
print(SharedFolder.create(sys.argv[2]).path, flush=True)
input()
"""


def making(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that makes a folder and waits."""
    command = [sys.executable, "-c", MAKER, str(temporary), PREFIX]
    maker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert maker.stdout is not None
    return maker, Path(maker.stdout.readline().rstrip("\n"))


def test_the_folder_of_a_living_process_stays_and_that_of_a_killed_one_is_removed(temporary: Path) -> None:
    maker, made = making(temporary)
    SharedFolder.create(PREFIX).remove()
    stays = made.exists()
    maker.kill()
    maker.communicate()

    mine = SharedFolder.create(PREFIX)

    assert (stays, made.exists()) == (True, False)
    assert [str(path) for path in temporary.iterdir()] == [mine.path]
    mine.remove()


def test_a_folder_is_private_and_only_the_process_that_made_it_removes_it(temporary: Path) -> None:
    maker, made = making(temporary)

    SharedFolder(str(made)).remove()

    assert {stat.S_IMODE(path.stat().st_mode) for path in (made, made / "owner")} == {0o700, 0o600}
    maker.kill()
    maker.communicate()


def test_a_folder_is_removed_with_its_files_and_by_its_path_too(temporary: Path) -> None:
    for by_path in (True, False):
        folder = SharedFolder.create(PREFIX)
        Path(folder.file("file")).write_text("text", encoding="utf-8")
        (SharedFolder(folder.path) if by_path else folder).remove()

    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("kind", OBSTACLES)
def test_a_folder_whose_owner_is_not_a_file_of_ours_is_left_alone(temporary: Path, tmp_path: Path, kind: str) -> None:
    is_intact = obstruct(temporary / f"{PREFIX}odd" / "owner", kind, tmp_path / "aside")

    SharedFolder.create(PREFIX).remove()

    assert is_intact()


def test_a_mark_ends_with_its_descriptor_and_its_file_must_be_new(tmp_path: Path) -> None:
    path = str(tmp_path / "mark")
    held = mark(path)
    before = is_marked(path)
    with pytest.raises(FileExistsError):
        mark(path)
    os.close(held)

    assert (before, is_marked(path)) == (True, False)


def test_processes_that_look_at_a_mark_do_not_take_each_other_for_it(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    path.touch()
    with path.open("rb") as other:
        lock(other.fileno(), shared=True)

        assert (is_marked(str(path)), is_marked(str(path), can_be_held=True)) == (False, True)


def test_a_mark_that_is_left_can_be_held_by_several(tmp_path: Path) -> None:
    path = str(tmp_path / "mark")
    written = mark(path)
    early = hold_mark(path)
    os.close(written)
    held = [hold_mark(path), hold_mark(path)]

    assert early is None
    assert is_marked(path, can_be_held=True)
    for file in held:
        assert file is not None
        os.close(file)
    assert not is_marked(path, can_be_held=True)
    assert hold_mark(str(tmp_path / "missing")) is None


def test_one_process_at_a_time_has_the_lock_of_a_folder_unless_it_is_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("signet.system.shared_folder.LOCK_S", 0.0)
    folder = SharedFolder.create(PREFIX)

    with folder.lock(shared=True), folder.lock(shared=True), pytest.raises(TimeoutError), folder.lock():
        pytest.fail("it is locked")
    with folder.lock(), pytest.raises(TimeoutError), folder.lock(shared=True):
        pytest.fail("it is locked")
    folder.remove()


def test_a_folder_without_an_owner_is_removed_at_an_age_if_one_is_given(temporary: Path) -> None:
    old, new = temporary / f"{PREFIX}old", temporary / f"{PREFIX}new"
    for folder, age_s in ((old, 90), (new, 10)):
        folder.mkdir()
        os.utime(folder, (time.time() - age_s, time.time() - age_s))

    SharedFolder.create(PREFIX).remove()
    stays = old.exists()
    SharedFolder.create(PREFIX, 60.0).remove()

    assert (stays, old.exists(), new.exists()) == (True, False, True)
