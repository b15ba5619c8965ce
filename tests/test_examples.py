"""Every example that a reader can copy works on the sample data: README, reference page, `--help`, tools, OpenAPI."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from argparse import PARSER
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from commands_in_process import signet_here
from processes import BIN, FIRST_AND_LAST_DOOR, PATIENCE_S, ROOT, SIGNET, Server, clean_env, serving, serving_command
from signet.commands.cli import parser
from signet.commands.oj import judging
from signet.settings.catalogue import TOOLSETS, find_toolset
from signet.system.piped_process import run_to_end

README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
PROGRAMS = ("signet", "oj-mcp-rs", "boj-mcp-server")
SERVERS = {("signet", "serve"), ("signet", "sandbox")}
STDIO = {("signet", "stdio"), ("oj-mcp-rs",), ("boj-mcp-server",)}
ON_SAMPLES = {("signet", "call"), ("signet", "tools"), ("signet", "serve"), ("signet", "stdio"), ("signet", "doctor")}
DOMAINS_ON_SAMPLES = {"boj": {"fetch", "plot", "search", "info", "index"}, "oj": {"show", "test", "new"}}
ELSEWHERE = {
    ("signet", "parity"), ("signet", "replay"), ("signet", "contract"), ("signet", "install"), ("signet", "uninstall"),
    ("signet", "token"), ("signet", "audit"), ("signet", "journal"), ("signet", "top"), ("signet", "wrap"),
    ("signet", "lock"), ("signet", "preflight"),
}  # fmt: skip
"""Commands that have no sample data, or write into the user's folder; tests/test_parity.py, test_replay.py, contracts/,
install/, operations/, wrap/, lock/ and test_journal_command.py run them."""
LAUNCHERS = {"npx", "uvx"}
"""What fetches a server of others from the network; tests/wrap/ runs such servers, installed before."""
HERE = {"boj", "call", "completion", "config", "doctor", "new", "oj", "tools"}
"""Commands that need no process of their own: each has tests of its own in which it has one."""
ENDLESS = "--watch"
"""What never ends by itself; tests/test_diagram_command.py runs it, saves its file and interrupts it."""
DIAGRAM = "@startuml\nAlice -> Bob: hello\n@enduml\n"
SOLUTION = "n, h = map(int, input().split())\nprint(sum(min(h, int(size)) for size in input().split()))\n"
"""A right program for the problem 1900A of the sample data."""
TOOLS = """
import signet


@signet.tool(example={"a": 1, "b": 2})
def add(a: int, b: int = 0) -> int:
    '''Add two integers.'''
    return a + b
"""
"""A user's own tools."""
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def commands_in(text: str) -> Iterator[str]:
    """The command lines of a text that start one of our programs; a walk of the README has a test of its own."""
    for line in text.splitlines():
        bare = line.strip().removeprefix("SIGNET_TOKEN=… ")
        command = re.split(r"\s[#>]\s|\s{2,}(?=[a-z0-9])", bare, maxsplit=1)[0].rstrip()
        if command.split(" ")[0] in PROGRAMS and not command.endswith("…") and "$" not in command:
            yield command.removesuffix(" &")


def readme_commands() -> list[str]:
    return [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in commands_in(block)]


def help_pages() -> Iterator[str]:
    """The help of `signet`, of each of its commands and of theirs."""
    yield parser([]).format_help()
    for name in children(parser([])):
        pending = [children(parser([name]))[name]]
        while pending:
            one = pending.pop()
            yield one.format_help()
            pending += children(one).values()


def children(command: Any) -> dict[str, Any]:
    return {name: one for action in command._actions if action.nargs == PARSER for name, one in action.choices.items()}


def help_commands() -> list[str]:
    return [line for text in help_pages() for line in commands_in(text)]


EVERY = list(dict.fromkeys([*readme_commands(), *help_commands()]))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--sandbox") as running:
        yield running


def on_samples(words: list[str]) -> list[str]:
    """Return a command on sample data, on any port."""
    head = tuple(words[:2])
    of_a_domain = len(words) > 2 and words[2] in DOMAINS_ON_SAMPLES.get(words[1], ())
    if (head in ON_SAMPLES or of_a_domain) and not {"--sandbox", "--replay", "--url"} & set(words):
        place = 3 if of_a_domain else len(words)
        words = [*words[:place], "--sandbox", *words[place:]]
    if head in SERVERS and "--port" not in words:
        words = [*words, "--port", "0"]
    return [str(BIN / words[0]), *words[1:]]


def is_run_here(line: str) -> bool:
    words = line.split(" ")
    return tuple(words[:2]) not in ELSEWHERE and ENDLESS not in words and not LAUNCHERS & set(words)


def drawn_files(folder: Path, words: list[str]) -> list[str]:
    """Write the diagrams that a command is to draw, and return its words with patterns expanded as a shell does."""
    expanded = []
    for word in words:
        if not word.endswith(".puml"):
            expanded.append(word)
            continue
        for name in ("one", "two") if "*" in word else ("",):
            file = word.replace("*", name)
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(DIAGRAM)
            expanded.append(file)
    return expanded


def run(folder: Path, words: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command that ends by itself, or with its input; solutions have more time than the problem states."""
    if words[0] == SIGNET and words[1] in HERE:
        with mock.patch.object(judging, "run_to_end", lambda *given, **_: run_to_end(*given, limit_s=PATIENCE_S)):
            return signet_here(folder, *words[1:], environ=environ)
    return subprocess.run(
        words, input=PING, cwd=folder, env=environ, capture_output=True, timeout=PATIENCE_S, check=False
    )


def test_the_texts_have_examples() -> None:
    assert len(readme_commands()) > 20
    assert len(help_commands()) > 15
    assert {"signet boj fetch FM08 --codes FXERD01 --start 202401 --out rates.csv", "signet doctor"} <= set(EVERY)


@pytest.mark.parametrize("line", [line for line in EVERY if is_run_here(line)])
def test_a_command_of_the_readme_or_of_a_help_page_works_on_the_sample_data(
    server: Server, tmp_path: Path, line: str
) -> None:
    if "--replay recording" in line:
        record = ("call", "--sandbox", "--record", "recording", "encodePlantUML", "plantumlCode=A")
        assert signet_here(tmp_path, *record).returncode == 0
    for name in re.findall(r"@([\w.]+\.(?:json|puml|txt))", line):
        text = json.dumps({"plantumlCode": "A -> B"}) if name.endswith(".json") else "A -> B"
        (tmp_path / name).write_text(text)
    if "weather.tools" in line:
        (tmp_path / "weather").mkdir()
        (tmp_path / "weather/tools.py").write_text(f'{TOOLS}\ntoolset = signet.Toolset(name="weather", tools=[add])\n')
    if "tools.py" in line or "other.toml" in line:
        (tmp_path / "tools.py").write_text(TOOLS)
        (tmp_path / "other.toml").write_text('toolsets = ["tools.py"]\n')
    if "--replay tests/recording" in line:
        record = ("call", "--toolsets", "tools.py", "--record", "tests/recording", "add", "a=1", "b=2")
        assert signet_here(tmp_path, *record).returncode == 0
    for name in re.findall(r"[\w/-]*main\.py", line):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SOLUTION)
    words = on_samples(shlex.split(line.replace("http://127.0.0.1:8080", server.url)))
    if words[1:2] == ["diagram"]:
        words = drawn_files(tmp_path, words)
    env = {"SIGNET_TOKEN": "a-token"} if "0.0.0.0" in line else {}
    env |= FIRST_AND_LAST_DOOR if words[1:2] == ["check"] else {}
    # The engine of the server draws, since each would take seconds to start; test_diagram_command.py starts them.
    env |= {"PLANTUML_SERVER": f"{server.url}/render"} if words[1:2] == ["diagram"] or "checkPlantUML" in line else {}

    if (Path(words[0]).name, words[1] if len(words) > 1 else "") in SERVERS:
        words[words.index("--port") + 1] = "0"
        words = [word.replace("tools.py", str(tmp_path / "tools.py")) for word in words]
        with serving_command(*words, env={**env, "PYTHONPATH": str(tmp_path)}) as running:
            assert running.process.poll() is None
        return
    done = run(tmp_path, words, clean_env(env))

    fails = 1 if "plantumlCode=''" in line else 0
    assert done.returncode == fails, done.stderr.decode()
    if (Path(words[0]).name, *words[1:2]) in STDIO or Path(words[0]).name in {"oj-mcp-rs", "boj-mcp-server"}:
        assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


# --- tools


def documented_calls() -> list[tuple[str, Any]]:
    """The example of each tool on the reference page, and a call for each id that a description names."""
    parts = re.split(r"^#### `(\w+)`$", REFERENCE.partition("## Tools")[2].partition("\n## ")[0], flags=re.MULTILINE)
    calls = []
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        calls += [(name, json.loads(example)) for example in re.findall(r"^Example: `(.*)`$", text, re.MULTILINE)]
        if name == "get_problem":
            named = re.findall(r"(\w+) \((leetcode|codeforces|atcoder|luogu|spoj)\)", text)
            calls += [(name, {"source": source, "id": problem_id}) for problem_id, source in named]
        if name == "resolve_problem":
            calls += [(name, {"query": query}) for query in re.findall(r"an id such as (\w+)", text)]
    return calls


def test_every_tool_has_an_example_on_the_reference_page_and_every_judge_an_id() -> None:
    calls = documented_calls()

    tools = [tool.name for name in TOOLSETS for tool in find_toolset(name).tools()]
    judges = {arguments.get("source") for name, arguments in calls if name == "get_problem"}
    assert {name for name, _ in calls} == set(tools)
    assert judges == {"leetcode", "codeforces", "atcoder", "luogu", "spoj"}
    assert ("resolve_problem", {"query": "1900A"}) in calls


@pytest.mark.parametrize(("tool", "arguments"), documented_calls(), ids=str)
def test_a_documented_call_of_a_tool_succeeds_on_the_sample_data(server: Server, tool: str, arguments: Any) -> None:
    reply = server.post(f"/api/tools/{tool}", arguments)

    assert (reply.status, reply.json()["success"]) == (200, True), reply.body


@pytest.mark.parametrize("query", ["two-sum", "leetcode:two-sum", "https://leetcode.com/problems/two-sum/", "1"])
def test_a_well_known_problem_is_found_by_whatever_names_it(server: Server, query: str) -> None:
    reply = server.post("/api/tools/resolve_problem", {"query": query})

    assert reply.json()["result"]["markdown"].startswith("# Two Sum\n\n- Source: leetcode | ID: 1 |")


# --- OpenAPI


def examples_of(operation: Any, components: Any) -> Iterator[Any]:
    """The bodies that an operation shows as examples, beside or within the schema of its body."""
    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = media.get("schema", {})
    schema = components.get(schema.get("$ref", "").rpartition("/")[2], schema)
    for holder in (media, schema):
        if "example" in holder:
            yield holder["example"]
        shown = holder.get("examples", ())
        yield from (shown if isinstance(shown, list) else [one["value"] for one in dict(shown).values()])


def test_every_example_of_openapi_succeeds_on_the_sample_data(server: Server) -> None:
    page = server.ask("GET", "/openapi.json").json()
    components = page.get("components", {}).get("schemas", {})
    failed = []
    for path, operations in page["paths"].items():
        if "{" in path or path.endswith("/stream"):
            # No document knows what is served under a name of the moment, and a stream has no end.
            continue
        for method, operation in operations.items():
            if method == "get":
                answers = [server.ask("GET", path)]
            elif method == "post":
                answers = [server.post(path, body) for body in examples_of(operation, components)]
            else:
                continue
            failed += [(method, path, answer.body) for answer in answers if answer.status not in {200, 202, 405}]

    assert failed == []
