"""The files that development mode watches: which they are, and what counts as a change."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from signet.commands.development.files import FileWatch, Sources, sources_of


def watching(folder: Path, *files: Path, listed: bool = False) -> FileWatch:
    """FileWatch files that were loaded just now."""
    watch = FileWatch()
    sources = Sources([str(folder)], [str(folder)] if listed else [], [str(file) for file in files])
    watch.expect(sources, {}, time.time_ns() + 10**9)
    return watch


def test_a_file_that_is_written_replaced_or_deleted_has_changed(tmp_path: Path) -> None:
    written, replaced, deleted = (tmp_path / name for name in ("a.py", "b.py", "c.py"))
    for file in (written, replaced, deleted):
        file.write_text("x = 1\n")
    watch = watching(tmp_path, written, replaced, deleted)
    assert watch.changed() == []

    written.write_text("x = 22\n")
    (tmp_path / "new").write_text("x = 1\n")
    (tmp_path / "new").replace(replaced)
    deleted.unlink()

    assert watch.changed() == [str(written), str(replaced), str(deleted)]


def test_a_file_that_was_written_while_the_tools_were_loaded_has_changed(tmp_path: Path) -> None:
    """Which files there are is known only when they are loaded."""
    file = tmp_path / "tools.py"
    file.write_text("x = 1\n")
    watch = FileWatch()

    watch.expect(Sources([str(tmp_path)], [], [str(file)]), {}, file.stat().st_mtime_ns)

    assert watch.changed() == [str(file)]


def test_a_contract_that_appears_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "tools.py"
    file.write_text("")
    watch = watching(tmp_path, file)

    (tmp_path / "contracts/tools").mkdir(parents=True)
    (tmp_path / "contracts/toolset.json").write_text("{}")
    (tmp_path / "contracts/tools/tools.add.json").write_text("{}")
    (tmp_path / "contracts/notes.txt").write_text("")

    assert [Path(path).name for path in watch.changed()] == ["tools.add.json", "toolset.json"]


def test_after_a_broken_edit_every_module_below_the_folders_counts(tmp_path: Path) -> None:
    file, other = tmp_path / "tools.py", tmp_path / "deep/er/other.py"
    environment = tmp_path / "env/lib/module.py"
    for path in (file, other, environment):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "env/pyvenv.cfg").write_text("")
    watch = watching(tmp_path, file)
    other.write_text("x = 1\n")
    assert watch.changed() == []

    watch.expect(None, watch.look(wide=True), time.time_ns())
    other.write_text("x = 22\n")
    environment.write_text("x = 22\n")

    assert watch.changed() == [str(other)]


def test_no_more_files_are_looked_at_than_may_be(tmp_path: Path) -> None:
    for number in range(2_100):
        (tmp_path / f"m{number}.py").touch()

    assert len(watching(tmp_path, listed=True).look()) == 2_000


def test_the_sources_are_the_modules_below_the_folders_of_the_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "sources_pkg"
    (package / "inner").mkdir(parents=True)
    for path in (package / "__init__.py", package / "inner/__init__.py", package / "unused.py"):
        path.write_text("")
    (package / "tools.py").write_text("import json\nimport sources_pkg.inner\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    __import__("sources_pkg.tools")

    by_name, by_path = sources_of(["sources_pkg.tools"]), sources_of([str(package / "tools.py")], "other.toml")

    for name in [name for name in sys.modules if name.startswith("sources_pkg")]:
        monkeypatch.delitem(sys.modules, name)
    loaded = [str(package / name) for name in ("__init__.py", "inner/__init__.py", "tools.py")]
    assert by_name == Sources([str(package)], [], [str(tmp_path / "signet.toml"), *loaded])
    assert by_path == Sources([str(tmp_path)], [], [str(tmp_path / "other.toml"), *loaded])
