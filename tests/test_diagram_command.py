"""`signet diagram` and `signet diagrams`, as processes: pictures in files, errors with their line, watching."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from processes import BIN, PATIENCE_S, ROOT, SIGNET, clean_env, run

SEQUENCE = "@startuml\nAlice -> Bob: hello\n@enduml\n"
ENV = {"PLANTUML_RENDER_TIMEOUT_S": "30"}


def test_a_file_becomes_a_picture_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "order.puml"
    file.write_text(SEQUENCE)

    done = run("diagram", str(file), env=ENV)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().startswith(f"{tmp_path}/order.svg  ")
    assert (tmp_path / "order.svg").read_text().startswith("<svg ")


def test_several_diagrams_become_several_pictures_in_the_folder_and_format_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "two.puml"
    file.write_text(f"intro\n{SEQUENCE}\n{SEQUENCE.replace('Alice', 'Carol')}")

    done = run("diagram", str(file), "--format", "png", "--out", str(tmp_path / "a/b"), env=ENV)

    assert done.returncode == 0, done.stderr
    pictures = sorted((tmp_path / "a/b").iterdir())
    assert [picture.name for picture in pictures] == ["two.png", "two_001.png"]
    assert [picture.read_bytes()[:4] for picture in pictures] == [b"\x89PNG"] * 2


def test_errors_are_told_as_compilers_tell_them_and_what_is_good_is_drawn(tmp_path: Path) -> None:
    broken, good = tmp_path / "broken.puml", tmp_path / "good.puml"
    broken.write_text(f"{SEQUENCE}\n@startuml\nA -> B\nfoo bar\n@enduml\n")
    good.write_text(SEQUENCE)
    (tmp_path / "latin.puml").write_bytes(b"@startuml\nA -> B: \xe9\n@enduml")

    files = [str(tmp_path / name) for name in ("broken.puml", "latin.puml", "missing.puml", "good.puml")]
    done = run("diagram", *files, "--format", "txt", env=ENV)

    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"{broken}:7: Syntax Error? (Assumed diagram type: sequence)\n"
        f"{tmp_path}/latin.puml:2: it is not UTF-8 text\n"
        f"{tmp_path}/missing.puml:1: cannot be read (No such file or directory)\n"
    ).replace(" (Assumed diagram type: sequence)", "")
    assert "│Alice│" in (tmp_path / "good.txt").read_text()
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["broken.txt", "good.txt"]


def test_a_watched_file_is_drawn_again_when_it_is_saved_until_ctrl_c(tmp_path: Path) -> None:
    file, picture = tmp_path / "order.puml", tmp_path / "order.svg"
    file.write_text(SEQUENCE)
    command = [SIGNET, "diagram", str(file), "--watch"]

    def wait_for(word: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not picture.exists() or word not in picture.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    with subprocess.Popen(command, env=clean_env(ENV), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for("Alice")
        file.write_text(SEQUENCE.replace("Alice", "Carol"))
        wait_for("Carol")
        file.write_text("@startuml\nfoo bar\n@enduml\n")
        assert process.stderr is not None
        error = process.stderr.readline().decode()
        process.send_signal(signal.SIGINT)
        status = process.wait(PATIENCE_S)

    assert status == 0
    assert error.startswith(f"{file}:2: Syntax Error?")
    assert "Carol" in picture.read_text()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = run("diagram", "x.puml", "--out", str(tmp_path / "file/below"))

    assert (done.returncode, b"write another --out" in done.stderr) == (2, True)


def test_the_engines_are_listed_in_their_order() -> None:
    done = run("diagrams", "engines", env={"PLANTUML_SERVER": "http://127.0.0.1:9/plantuml"})

    rows = [line.split()[:2] for line in done.stdout.decode().splitlines()[1:4]]
    assert (done.returncode, rows) == (0, [["server", "yes"], ["JavaScript", "yes"], ["jar", "yes"]])


def test_install_says_that_the_files_are_there() -> None:
    done = run("diagrams", "install")

    assert done.returncode == 0
    assert done.stdout.decode() == f"PlantUML 1.2026.8 is in {ROOT}/node_modules: nothing to fetch\n"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A copy of the checkout, as it is before npm has run."""
    copy = tmp_path / "checkout"
    copy.mkdir()
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(ROOT / name, copy / name)
    return copy


def run_bare(bare: Path, *args: str, path: str) -> subprocess.CompletedProcess[str]:
    env = clean_env({"PYTHONPATH": str(bare / "src"), "XDG_DATA_HOME": str(bare / "data"), "PATH": path})
    command = [BIN / "python", "-m", "signet", *args]
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", cwd=bare, check=False)


def test_install_fetches_the_pinned_packages_by_npm_into_the_data_folder(bare: Path) -> None:
    """npm itself is played: it is called as npm is, and finds in the folder what the lock file asks for."""
    tools = bare / "bin"
    tools.mkdir()
    npm = tools / "npm"
    npm.write_text(
        f'#!/bin/sh\necho "$@" > said\ntest -f package-lock.json && ln -s {ROOT}/node_modules node_modules\n'
    )
    npm.chmod(0o755)

    before = run_bare(bare, "diagrams", "engines", path=os.environ["PATH"])
    done = run_bare(bare, "diagrams", "install", path=f"{tools}:{os.environ['PATH']}")
    after = run_bare(bare, "diagrams", "engines", path=os.environ["PATH"])

    folder = bare / "data/signet/diagrams"
    assert "no scripts and fonts" in before.stdout.replace("\n", " ")
    assert done.returncode == 0, done.stderr
    assert (folder / "said").read_text().startswith("ci --omit=dev --ignore-scripts")
    assert (folder / "package-lock.json").read_bytes() == (ROOT / "package-lock.json").read_bytes()
    assert "JavaScript  yes" in after.stdout


def test_without_npm_install_says_what_is_needed(bare: Path) -> None:
    done = run_bare(bare, "diagrams", "install", path=str(bare))

    assert done.returncode == 2
    assert "npm is needed" in done.stderr


def test_without_the_files_the_tools_say_what_to_type(bare: Path) -> None:
    flags = ("--plantuml-jar", "/nowhere.jar", "plantumlCode=A -> B")
    done = run_bare(bare, "call", "renderPlantUML", *flags, path=os.environ["PATH"])

    assert done.returncode == 1
    assert "no PlantUML engine is installed here: signet doctor shows how to install one" in done.stderr


def test_no_picture_is_written_over_its_source(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text(SEQUENCE)

    done = run("diagram", str(notes), "--format", "txt", env=ENV)

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"{notes}:1: its picture would replace {notes}, which is read here; use --out\n"
    assert notes.read_text() == SEQUENCE


def test_no_picture_is_written_over_that_of_another_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.puml").write_text(SEQUENCE.replace("Alice", f"From{name}"))
    first, second = (str(tmp_path / name / "x.puml") for name in ("a", "b"))

    done = run("diagram", first, second, "--out", str(tmp_path), env=ENV)

    assert done.returncode == 1
    assert done.stderr.decode() == f"{second}:1: its picture would replace {tmp_path}/x.svg, which is that of {first}\n"
    assert "Froma" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize(("form", "begin"), [("svg", b"<svg "), ("png", b"\x89PNG"), ("txt", b" ")])
def test_standard_input_becomes_a_picture_on_standard_output(form: str, begin: bytes) -> None:
    done = run("diagram", "-", "--format", form, stdin=SEQUENCE.encode(), env=ENV)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(begin)


def test_standard_input_with_two_diagrams_needs_a_folder(tmp_path: Path) -> None:
    two = (SEQUENCE * 2).encode()

    alone = run("diagram", "-", stdin=two, env=ENV)
    kept = run("diagram", "-", "--out", str(tmp_path), stdin=two, env=ENV)

    assert (alone.returncode, alone.stdout.count(b"<svg ")) == (1, 1)
    assert alone.stderr == b"-:4: standard output takes one diagram; use --out DIR\n"
    assert (kept.returncode, sorted(os.listdir(tmp_path))) == (0, ["diagram.svg", "diagram_001.svg"])


def test_a_folder_is_answered_with_what_to_write(tmp_path: Path) -> None:
    done = run("diagram", str(tmp_path), env=ENV)

    words = f"{tmp_path}:1: it is a folder; name the files in it, such as {tmp_path}/*.puml\n"
    assert (done.returncode, done.stderr.decode()) == (1, words)


@pytest.mark.parametrize("arguments", [("-", "a.puml"), ("-", "--watch")])
def test_standard_input_stands_alone(arguments: tuple[str, ...]) -> None:
    done = run("diagram", *arguments, env=ENV)

    assert done.returncode == 2
    assert b"- is standard input" in done.stderr
