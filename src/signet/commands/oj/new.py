"""`signet oj new`: a folder with the statement, the samples and a stub that reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from signet.commands.terminal import say, write
from signet.settings.usage import UsageError
from signet.system.advice import advise

from .problem import FoundProblem

__all__ = ["make_folder"]

STUBS: Final = {
    "py": (
        "main.py",
        "import sys\n\n\ndef main() -> None:\n    data = sys.stdin.read().split()\n    # Solve it here.\n\n\nmain()\n",
        ("python3", "main.py"),
    ),
    "cpp": (
        "main.cpp",
        (
            "#include <iostream>\n\nint main() {\n    std::ios::sync_with_stdio(false);\n"
            "    std::cin.tie(nullptr);\n    // Solve it here.\n}\n"
        ),
        ("./main",),
    ),
    "rs": (
        "main.rs",
        (
            "use std::io::{self, Read};\n\nfn main() {\n    let mut data = String::new();\n"
            "    io::stdin().read_to_string(&mut data).unwrap();\n    // Solve it here.\n}\n"
        ),
        ("./main",),
    ),
}
"""The stub of each language: its file, its text, and how it is run. A stub reads the input and prints nothing."""
BUILDS: Final = {"cpp": "g++ -O2 -o main main.cpp && ", "rs": "rustc -O -o main main.rs && "}


def make_folder(problem: FoundProblem, out: str | None, lang: str, backend: Sequence[str]) -> int:
    """Write the files of a problem into a folder; files that are there already stay as they are.

    `backend` are the flags that say where problems come from: the printed command needs them too.

    Raises:
        UsageError: a file cannot be written.
    """
    folder = out or problem.name
    name, stub, run = STUBS[lang]
    files = {name: stub} | ({"statement.md": problem.page + "\n"} if problem.has_statement else {})
    for number, sample in enumerate(problem.samples.samples, 1):
        files[f"samples/{number}.in"] = sample.input + "\n"
        files[f"samples/{number}.out"] = sample.output + "\n"
    try:
        kept = [path for path, text in files.items() if not _write_new(os.path.join(folder, path), text)]
    except OSError as error:
        raise UsageError(f"cannot write {error.filename or folder} ({error.strerror}); --out names another") from None
    if problem.samples.reason:
        say(problem.samples.reason)
    if kept:
        say(f"left as they were: {', '.join(kept)}")
    count = len(problem.samples.samples)
    parts = ["statement"] * problem.has_statement + [f"{count} {'sample' if count == 1 else 'samples'}"] * (count > 0)
    write(f"{folder}: {', '.join(parts)} and {name}" if parts else f"{folder}: {name}")
    if problem.reads_stdin and problem.samples.samples:
        problem_id = f"{problem.samples.source}:{problem.samples.id}"
        command = advise("oj.test", problem=problem_id, backend=list(backend), program=list(run))
        write(f"Test it there: {BUILDS.get(lang, '')}{command}")
    return 0


def _write_new(path: str, text: str) -> bool:
    """Write a file that does not exist yet; return False, and change nothing, if it does."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
