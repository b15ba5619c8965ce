"""What reaches a wrapped server is what was checked, also where the server reads names in other ways than Signet."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from door_calls import META, modern_headers
from processes import ROOT, SIGNET, Pipe, Server, piping, run, serving_command

SERVER = (sys.executable, str(ROOT / "tests/wrap/lenient_server.py"))
TOOL = "mcp.tool:lenient.safe"
ONE_TOOL = "tools:call:lenient.safe"
HELLO = b'{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}'
OK = '"arguments":{"path":"/ok"}'
"""Stands as OK in the params below."""

CONTEXT = '"ref":{"type":"ref/prompt","name":"report"},"argument":{"name":"topic","value":""},"context"'
"""The members of a completion; arguments of the prompt are to follow."""

DANGEROUS = {
    "case of name": '{"name":"safe",OK,"Name":"danger","Arguments":{"path":"/etc"}}',
    "case of arguments": '{"name":"safe",OK,"ARGUMENTS":{"path":"/etc"}}',
    "long s": '{"name":"\\u017fafe","name":"safe",OK,"argument\\u017f":{"path":"/etc"}}',
    "nothing behind a name": '{"name":"safe",OK,"name\\u0000":"danger"}',
    "escaped nothing": '{"name":"safe",OK,"arguments\\u0000x":{"path":"/etc"}}',
    "equal names": '{"name":"danger","name":"safe","arguments":{"path":"/etc"},OK}',
    "escaped equal names": '{"n\\u0061me":"danger","name":"safe","\\u0061rguments":{"path":"/etc"},OK}',
    "equal arguments": '{"name":"safe","arguments":{"path":"/etc/shadow","path":"/ok"}}',
    "equal arguments apart": '{"name":"safe","arguments":{"path":"/etc","x" :1, "path":"/ok"}}',
    "escaped equal arguments": '{"name":"safe","arguments":{"p\\u0061th":"/etc","path":"/ok","x":"\\u0022:"}}',
    "case of an argument": '{"name":"safe","arguments":{"path":"/ok","Path":"/etc"}}',
    "an argument in another case": '{"name":"safe","arguments":{"PATH":"/etc"}}',
    "an argument with nothing": '{"name":"safe","arguments":{"path":"/ok","path\\u0000":"/etc"}}',
    "a name that is declared at another place": '{"name":"safe","arguments":{"path":"/ok","pAth":"/etc"}}',
    "deep equal names": '{"name":"safe","arguments":{"tree":{"kids":[{"name":"far too long","name":"a"}]}}}',
    "deep case": '{"name":"safe","arguments":{"path":"/ok","tree":{"kids":[{"kids":[{"NAME":"far too long"}]}]}}}',
}
"""Params of calls that a token for `safe` may not turn into `danger`, and that no contract may let through."""


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = str(tmp_path_factory.mktemp("tokens") / "tokens")
    made = {"file": path}
    for name, scopes in {"one": ONE_TOOL, "all": "tools:call"}.items():
        done = run("token", "new", name, "--scopes", scopes, "--tokens-file", path)
        made[name] = done.stdout.decode().split()[-1]
    return made


class Site:
    """A served wrapper of a lenient server, and the lines that reached it."""

    def __init__(self, server: Server, seen: Path, tokens: dict[str, str]) -> None:
        self.server = server
        self._seen = seen
        self._tokens = tokens

    def post(self, params: str, method: str = "tools/call", token: str = "one") -> str:
        """Send a request of the handshake era with exactly these params, and return the answer."""
        body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
        headers = {"authorization": f"Bearer {self._tokens[token]}", "content-type": "application/json"}
        return self.server.ask("POST", "/mcp", body.encode(), headers).body.decode()

    def lines(self, method: str) -> list[str]:
        """Return the lines with which a method reached the server."""
        return [one for one in self._seen.read_text().splitlines() if f'"method":"{method}"' in one]


@pytest.fixture(scope="module", params=["folding", "first"])
def site(
    request: pytest.FixtureRequest, tokens: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    seen = tmp_path_factory.mktemp("seen") / "lines"
    flags = ("--serve", "--port", "0", "--no-journal", "--no-console", "--name", "lenient")
    command = (SIGNET, "wrap", *flags, "--tokens-file", tokens["file"], "--", *SERVER, request.param, str(seen))
    with serving_command(*command) as server:
        yield Site(server, seen, tokens)


@pytest.mark.parametrize("params", DANGEROUS.values(), ids=DANGEROUS)
def test_no_spelling_makes_the_server_run_what_was_not_checked(site: Site, params: str) -> None:
    answer = site.post(params.replace("OK", OK))

    assert "ran safe on /ok" in answer or "Invalid arguments" in answer or "Invalid Request" in answer, answer
    assert not [line for line in site.lines("tools/call") if "danger" in line or "/etc" in line or "too long" in line]


def test_honest_arguments_arrive_as_the_bytes_that_were_checked(site: Site) -> None:
    """Numbers keep their digits, free maps their names, and a map may hold a name that is declared elsewhere."""
    given = (
        '{"exact":[1.50,12345678901234567890123,1E2,-0.0],"path":"/ok\\/a",'
        '"words":{"The":1,"the":2,"PATH":3,"Stra\\u00dfe":4,"STRASSE":5}, "tree" : {"kids":[{"name":"caf\\u00e9"}]}}'
    )
    assert "ran safe on /ok/a" in site.post(f'{{"name":"safe","arguments":{given}}}')

    assert f'"arguments":{given}' in site.lines("tools/call")[-1]


def test_members_that_a_method_does_not_have_are_left_out(site: Site) -> None:
    site.post('{"name":"safe","arguments":{},"_Meta":{"a":1},"vendor":1,"_meta":{"ProgressToken":7,"my/x":[1.50]}}')
    site.post('{"uri":"mem://a","URI":"mem://b","Uri\\u0000":"mem://c"}', "resources/read", "all")
    completion = (
        '{"ref":{"type":"ref/prompt","name":"report","Name":"x"},"argument":{"name":"topic","value":"a","V":1}}'
    )
    site.post(completion, "completion/complete", "all")

    sent = [json.loads(site.lines(m)[-1])["params"] for m in ("tools/call", "resources/read", "completion/complete")]
    assert sent == [
        {"name": "safe", "arguments": {}, "_meta": {"my/x": [1.5]}},
        {"uri": "mem://a"},
        {"ref": {"type": "ref/prompt", "name": "report"}, "argument": {"name": "topic", "value": "a"}},
    ]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", '{"name":"report","arguments":{"topic":"a","Topic":"b"}}'),
        ("prompts/get", '{"name":"report","arguments":{"TOPIC":"b"}}'),
        ("prompts/get", '{"name":"report","arguments":{"topic":"a","topic":"b"}}'),
        (
            "completion/complete",
            f'{{{CONTEXT}:{{"arguments":{{"TOPIC":"b"}}}},"arguments":{{"other":1}}}}',
        ),
        ("vendor/do", '{"what":"a","What":"b"}'),
        ("vendor/do", '{"what":"a","what":"b"}'),
        ("vendor/do", '{"what":{"deep":[{"a":1,"a":2}]}}'),
    ],
)
def test_ambiguous_names_of_other_requests_are_refused(site: Site, method: str, params: str) -> None:
    site.post("{}", "tools/list", "all")
    before = len(site.lines(method))

    answer = json.loads(site.post(params, method, "all"))

    assert answer["error"]["code"] == -32602
    assert len(site.lines(method)) == before
    assert "result" in json.loads(site.post('{"name":"report","arguments":{"topic":"a","other":"b"}}', method, "all"))


@pytest.mark.parametrize(
    "method", ["Tools/call", "TOOLS/CALL", "tools/call\\u0000", "tools/call\\u0000x", "Tasks/list"]
)
def test_a_method_that_may_be_taken_for_a_known_one_is_none(site: Site, method: str) -> None:
    answer = json.loads(site.post('{"name":"safe","arguments":{"path":"/etc"}}', method, "all"))

    assert answer["error"]["code"] == -32601
    assert site.lines(method) == []


def test_other_doors_send_what_they_checked(site: Site, tokens: dict[str, str]) -> None:
    """REST, the envelope and the modern era."""
    bearer = {"authorization": f"Bearer {tokens['one']}", "content-type": "application/json"}
    for body in (b'{"path":"/ok","Path":"/etc"}', b'{"PATH":"/etc"}', b'{"path":"/etc","path":"/ok"}'):
        site.server.ask("POST", "/api/tools/safe", body, bearer)
        value = (
            b'{"jsonrpc":"2.0","id":1,"method":"mcp.tool.invoke","params":{"tool":"mcp.tool:lenient.safe","input":%s}}'
        )
        site.server.ask("POST", f"/mcp/tool/{TOOL}", value % body, bearer)
        params = json.dumps({"name": "safe", "_meta": META}).encode()[:-1] + b',"arguments":%s}' % body
        modern = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}' % params
        site.server.ask("POST", "/mcp", modern, {**modern_headers("tools/call", "safe"), **bearer})

    assert not [line for line in site.lines("tools/call") if "/etc" in line]


def test_other_doors_send_the_bytes_that_they_checked(site: Site, tokens: dict[str, str]) -> None:
    bearer = {"authorization": f"Bearer {tokens['one']}", "content-type": "application/json"}
    given = '{"exact":[1.50,12345678901234567890123], "path" : "/ok"}'
    envelope = f'{{"jsonrpc":"2.0","id":1,"method":"mcp.tool.invoke","params":{{"tool":"{TOOL}","input":{given}}}}}'
    for path, body in (("/api/tools/safe", given), (f"/mcp/tool/{TOOL}", envelope)):
        assert site.server.ask("POST", path, body.encode(), bearer).status == 200
        assert f'"arguments":{given}' in site.lines("tools/call")[-1]


def test_a_result_that_has_a_name_twice_is_broken(site: Site) -> None:
    """A client could read the other member than the one that was held to the contract."""

    def ask(form: str) -> Any:
        return json.loads(site.post(json.dumps({"name": "twice", "arguments": {"form": form}}), token="all"))

    for form in ("above", "below", "deep", "failed"):
        answer = ask(form)["result"]
        assert (answer["isError"], answer["_meta"]["canonical_code"]) == (True, "INVALID_OUTPUT")
        assert "/etc" not in json.dumps(answer)
    assert ask("once")["result"]["structuredContent"]["path"] == "/ok"


ANSWERS = {
    b'{"action":"accept","content":{"name":"me"}}': True,
    b'{"action":"decline","action":"accept","content":{}}': False,
    b'{"action":"decline","Action":"accept","content":{}}': False,
    b'{"action":"accept","content":{"name":"a","NAME":"b"}}': False,
    b'{"action":"accept","content":{"name":{"a":1,"\\u0061":2}}}': False,
}


@pytest.mark.parametrize("given", ANSWERS)
def test_an_answer_to_a_question_has_no_ambiguous_names(given: bytes) -> None:
    with piping(
        SIGNET, "wrap", "--no-journal", "--", sys.executable, str(ROOT / "tests/wrap/shared_server.py")
    ) as pipe:
        pipe.ask(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":' + HELLO + b"}")
        question = pipe.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask"}})
        reply = pipe.ask(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(question["id"]).encode(), given))

    assert (reply["result"]["content"][0]["text"] != '"refused"') == ANSWERS[given]


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    with piping(SIGNET, "wrap", "--no-journal", "--", *SERVER, "folding", str(tmp_path / "seen")) as one:
        yield one


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", '{"name":"report","arguments":{"TOPIC":"b"}}'),
        ("completion/complete", f'{{{CONTEXT}:{{"arguments":{{"TOPIC":"b"}}}}}}'),
    ],
)
def test_the_first_request_of_a_prompt_is_held_to_its_arguments_too(
    pipe: Pipe, tmp_path: Path, method: str, params: str
) -> None:
    """What the prompt declares is read before, where nobody has asked for it yet."""
    pipe.ask(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":' + HELLO + b"}")
    refused = pipe.ask(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'.encode())
    taken = pipe.ask(f'{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{params.lower()}}}'.encode())

    assert refused["error"]["code"] == -32602
    assert "result" in taken
    assert "TOPIC" not in (tmp_path / "seen").read_text()


@pytest.mark.parametrize("params", DANGEROUS.values(), ids=DANGEROUS)
def test_the_same_holds_on_stdio(pipe: Pipe, tmp_path: Path, params: str) -> None:
    pipe.ask(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":' + HELLO + b"}")
    pipe.ask(f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params.replace("OK", OK)}}}'.encode())

    lines = (tmp_path / "seen").read_text().splitlines()
    calls = [line for line in lines if '"method":"tools/call"' in line]
    assert not [line for line in calls if "danger" in line or "/etc" in line or "too long" in line]
