"""The file of settings: found, read within a bound, and refused with one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signet.settings.file import find_file
from signet.settings.usage import UsageError

MIB = 1_048_576


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        find_file({}, {"config": str(path)})
    return str(caught.value).replace(str(path), "FILE")


def test_without_a_file_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert find_file({}, {}) is None


def test_the_flag_wins_over_the_variable_and_that_over_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("signet.toml", "by_variable.toml", "by_flag.toml"):
        (tmp_path / name).write_text("port = 1\n")
    environ = {"SIGNET_CONFIG": "by_variable.toml"}

    found = [find_file({}, {}), find_file(environ, {}), find_file(environ, {"config": "by_flag.toml"})]

    assert [file.path for file in found if file] == ["signet.toml", "by_variable.toml", "by_flag.toml"]
    assert find_file({}, {}, search=False) is None
    assert find_file(environ, {}, search=False) == find_file(environ, {})
    assert find_file({"SIGNET_CONFIG": " "}, {}) == found[0]


@pytest.mark.parametrize(("environ", "flags", "source"), [
    ({"SIGNET_CONFIG": "none.toml"}, {}, "SIGNET_CONFIG"),
    ({}, {"config": "none.toml"}, "--config"),
])  # fmt: skip
def test_a_file_that_is_named_must_be_there(
    environ: dict[str, str], flags: dict[str, str], source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=f"^{source}: there is no file none.toml; write another name"):
        find_file(environ, flags)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"port = \n", "FILE is not TOML: Invalid value (at line 1, column 8)"),
        (b"port = 1\nport = 2\n", "FILE is not TOML: Cannot overwrite a value (at line 2, column 9)"),
        (b"port = 1\n\ntoolsets = [", "FILE is not TOML: Invalid value (at line 3, the end)"),
        (b"port = " + b"9" * 5000, "FILE is not TOML: a number has too many digits"),
        (b'port = 1\nhost = "\xff"\n', "FILE is not UTF-8 text (line 2); write it in UTF-8"),
        (b"x = " + b"[" * 100_000, "FILE is not a list of settings: it is nested too deeply"),
        (b"#" * (MIB + 1), "FILE is larger than 1,048,576 bytes, which no list of settings is"),
        (b"p = 1\n" + b"a." * 100 + b"a = 1", "FILE is not a list of settings: a key has too many parts (line 2)"),
        (b"[" + b"a." * 100 + b"a]", "FILE is not a list of settings: a key has too many parts (line 1)"),
        (b"x = {" + b"a." * 100 + b"a = 1}", "FILE is not a list of settings: a key has too many parts (line 1)"),
    ],
    ids=["value", "twice", "end", "digits", "latin", "nested", "large", "key", "table", "inline"],
)
def test_what_is_no_toml_is_told_with_its_line(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "signet.toml"
    path.write_bytes(content)

    assert refused(path) == told


def test_a_secret_is_not_repeated_from_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "signet.toml"
    path.write_text("token = hunter2-hunter2\n")

    assert "hunter2" not in refused(path)


def test_a_folder_cannot_be_read(tmp_path: Path) -> None:
    assert refused(tmp_path) == "FILE cannot be read (Is a directory)"


@pytest.mark.parametrize("content", ["", " \n", "# nothing\n", "\ufeffport = 1\r\n"])
def test_blanks_comments_a_mark_of_the_encoding_and_other_line_ends_are_fine(content: str, tmp_path: Path) -> None:
    path = tmp_path / "signet.toml"
    path.write_bytes(content.encode())

    file = find_file({}, {"config": str(path)})

    assert file is not None
    assert dict(file.table) == ({"port": 1} if "port" in content else {})


def test_no_file_is_waited_for(tmp_path: Path) -> None:
    """A FIFO that nobody writes to, and the null device, are empty."""
    os.mkfifo(tmp_path / "fifo")

    files = [find_file({}, {"config": path}) for path in (str(tmp_path / "fifo"), os.devnull)]

    assert [(dict(file.table), file.relative("a")) for file in files if file] == [({}, "a")] * 2
