"""`signet oj new`: a folder with the statement, the samples and a stub that reads them."""

from __future__ import annotations

import os
from typing import Final

from signet.commands.terminal import say, write
from signet.settings import UsageError

from .problem import FoundProblem

__all__ = ["make_folder"]

STUBS: Final = {
    "py": (
        "main.py",
        "import sys\n\n\ndef main() -> None:\n    data = sys.stdin.read().split()\n    print(len(data))\n\n\nmain()\n",
        "python3 main.py",
    ),
    "cpp": (
        "main.cpp",
        (
            "#include <iostream>\n#include <string>\n\nint main() {\n    std::ios::sync_with_stdio(false);\n"
            "    std::cin.tie(nullptr);\n    std::string word;\n    long long count = 0;\n"
            "    while (std::cin >> word) ++count;\n    std::cout << count << '\\n';\n}\n"
        ),
        "./main",
    ),
    "rs": (
        "main.rs",
        (
            "use std::io::{self, Read};\n\nfn main() {\n    let mut data = String::new();\n"
            "    io::stdin().read_to_string(&mut data).unwrap();\n"
            '    println!("{}", data.split_whitespace().count());\n}\n'
        ),
        "./main",
    ),
}
"""The stub of each language: its file, its text, and how it is run. A stub counts the words that it reads."""
BUILDS: Final = {"cpp": "g++ -O2 -o main main.cpp && ", "rs": "rustc -O -o main main.rs && "}


def make_folder(problem: FoundProblem, out: str | None, lang: str) -> int:
    """Write the files of a problem into a folder; files that are there already stay as they are.

    Raises:
        UsageError: a file cannot be written.
    """
    folder = out or problem.name
    name, stub, run = STUBS[lang]
    files = {"statement.md": problem.page + "\n", name: stub}
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
    problem_id = f"{problem.samples.source}:{problem.samples.id}"
    count = len(problem.samples.samples)
    write(f"{folder}: statement, {count} {'sample' if count == 1 else 'samples'} and {name}")
    if problem.reads_stdin and problem.samples.samples:
        write(f"Test it there: {BUILDS.get(lang, '')}signet oj test {problem_id} -- {run}")
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
