"""A server on stdio without any library, which writes exactly the bytes that a case of the relay matrix is about.

`scripted_server.py handshake|modern|both`: the era that it speaks. It keeps every line that it is sent, and its tool
`seen` tells those that hold a text, so that a case can look at what arrived behind a wrapper.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
PAGE = 4
BIG = 1_000_000

SCHEMA = '{"type":"object","properties":{"label":{"type":"string"}}}'
GIVEN = '{"type":"object","properties":{"given":{}},"required":["given"]}'
ODD = (
    '{"inputSchema":{"properties":{"z":{"type":"number","maximum":1E3,"default":1.50},"label":{"type":"string"},'
    '"a":{"type":"string","description":"caf\\u00e9 \\/ \\u2028"}},"type":"object","x-vendor":{"deep":[1.0,-0.0,2e-7]}}'
    ',"name":"odd","icons":[{"src":"data:,x","sizes":["48x48"]}],"annotations":{"readOnlyHint":true,"vendorHint":1.0},'
    '"_meta":{"vendor/x":{"b":1,"a":2}},"title":"Ödd","description":"writes things in its own way","vendorField":null}'
)
TOOLS = [
    ODD,
    *(
        f'{{"name":"{name}","description":"{name}","inputSchema":{SCHEMA}}}'
        for name in (
            "seen", "progress", "log", "ask", "ask_many", "fail", "tool_error", "wait", "ping_me", "stray", "touch",
            "grow", "twice", "big", "vendor_question", "we.ird-name_2", "bare",
        )
    ),
    f'{{"name":"echo","inputSchema":{SCHEMA},"outputSchema":{GIVEN},"description":"echo"}}',
]  # fmt: skip
PROMPTS = [
    '{"name":"greet","arguments":[{"name":"who","required":true,"vendor":1.0}],"title":"Gr\\u00fc\\u00dfe"}',
    *(f'{{"description":"plain","name":"plain_{n}"}}' for n in range(5)),
]
RESOURCES = [
    '{"uri":"mem://plain","name":"plain","size":1.0e3,"annotations":{"priority":0.50}}',
    *(f'{{"name":"r{n}","uri":"mem://r{n}","mimeType":"text/plain"}}' for n in range(5)),
]
TEMPLATES = ['{"uriTemplate":"mem://item/{id}","name":"item","_meta":{"k":1.0}}']
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "elicitation": (
        "elicitation/create",
        {
            "message": "Wer? caf\u00e9",
            "requestedSchema": {
                "type": "object",
                "properties": {"name": {"type": "string", "title": "N"}, "age": {"type": "integer", "minimum": 0}},
                "required": ["name"],
            },
        },
    ),
    "url": (
        "elicitation/create",
        {"mode": "url", "message": "Go there", "url": "https://example.invalid/x", "elicitationId": "e-1"},
    ),
    "sampling": (
        "sampling/createMessage",
        {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Say hello"}}],
            "maxTokens": 17,
            "temperature": 0.5,
            "systemPrompt": "Be brief",
        },
    ),
    "roots": ("roots/list", {}),
}
STATE = 'st\u00e4te "1" / {"n": 1.50} \u2028 '

Params = dict[str, Any]


class ProtocolError(Exception):
    """An error that goes back as it is."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


class Scripted:
    """The server, in one era or in both."""

    def __init__(self, eras: str) -> None:
        self.eras = eras
        self.lines: list[str] = []
        self.level = "debug"
        self.watched: set[str] = set()
        self.listening: dict[Any, Params] = {}
        self.grown = {"tools": 0, "prompts": 0, "resources": 0}
        self.cancelled: dict[Any, threading.Event] = {}
        self._replies: dict[Any, tuple[threading.Event, list[Params]]] = {}
        self._count = 0
        self._lock = threading.Lock()

    # The wire.

    def write(self, line: str) -> None:
        with self._lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def tell(self, method: str, params: Params) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def run(self) -> None:
        for line in sys.stdin:
            self.lines.append(line.rstrip("\n"))
            message = json.loads(line)
            if "method" not in message:
                event, kept = self._replies.pop(message["id"], (threading.Event(), []))
                kept.append(message)
                event.set()
            elif "id" not in message:
                self.notified(message["method"], message.get("params", {}))
            else:
                self.cancelled[message["id"]] = threading.Event()
                threading.Thread(target=self.respond, args=(message,), daemon=True).start()

    def notified(self, method: str, params: Params) -> None:
        if method == "notifications/cancelled":
            self.listening.pop(params.get("requestId"), None)
            if event := self.cancelled.get(params.get("requestId")):
                event.set()

    def respond(self, message: Params) -> None:
        key = json.dumps(message["id"])
        try:
            result = self.handle(message["method"], message.get("params", {}), message["id"])
        except ProtocolError as refused:
            error = json.dumps(refused.error)
            self.write(f'{{"jsonrpc":"2.0","id":{key},"error":{error}}}')
            return
        if result is not None:
            self.write(f'{{"jsonrpc":"2.0","id":{key},"result":{result}}}')

    def question(self, method: str, params: Params, key: Any = None) -> Params:
        """Ask in the handshake era, and return the whole response."""
        event, kept = threading.Event(), list[Params]()
        with self._lock:
            self._count += 1
            asked = key or (self._count if self._count % 2 else f"q-{self._count}")
            self._replies[asked] = (event, kept)
        self.write(json.dumps({"jsonrpc": "2.0", "id": asked, "method": method, "params": params}))
        if not event.wait(20):
            return {"error": {"code": 0, "message": "nobody answered"}}
        return kept[0]

    # Methods.

    def handle(self, method: str, params: Params, key: Any) -> str | None:
        modern = f"{PREFIX}protocolVersion" in params.get("_meta", {})
        if method == "initialize" and self.eras != "modern":
            return self.initialize(params)
        if modern and self.eras == "handshake":
            raise ProtocolError(-32601, "Method not found")
        if not modern and self.eras == "modern":
            raise ProtocolError(-32602, "Invalid params: no protocol version")
        found = {
            "server/discover": self.discover if modern else None,
            "ping": None if modern else (lambda *_: "{}"),
            "tools/list": lambda p, _: self.page("tools", [*TOOLS, *self.added("tools")], p),
            "prompts/list": lambda p, _: self.page("prompts", [*PROMPTS, *self.added("prompts")], p),
            "resources/list": lambda p, _: self.page("resources", [*RESOURCES, *self.added("resources")], p),
            "resources/templates/list": lambda p, _: self.page("resourceTemplates", TEMPLATES, p),
            "tools/call": self.call,
            "prompts/get": self.prompt,
            "resources/read": self.read,
            "completion/complete": self.complete,
            "logging/setLevel": None if modern else self.set_level,
            "resources/subscribe": None if modern else self.subscribe,
            "resources/unsubscribe": None if modern else self.subscribe,
            "subscriptions/listen": self.listen if modern else None,
        }.get(method)
        if found is None:
            raise ProtocolError(-32601, "Method not found", method)
        params["_method"] = method
        result = found(params, key)
        return self.completed(result, method) if modern and result is not None else result

    def completed(self, result: str, method: str) -> str:
        """Add what a result of the modern era carries."""
        added = '"resultType":"complete",' if '"resultType"' not in result else ""
        if method.endswith("/list") or method in {"resources/read", "server/discover"}:
            added += '"ttlMs":0,"cacheScope":"private",'
        if '"_meta":{"vendor/result"' in result:
            return "{" + added + result[1:]
        info = f'"_meta":{{"{PREFIX}serverInfo":{{"name":"scripted","version":"7"}}}}'
        return "{" + added + info + ("," + result[1:] if result != "{}" else "}")

    def capabilities(self) -> Params:
        return {
            "tools": {"listChanged": True},
            "prompts": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "completions": {},
            "logging": {},
        }

    def initialize(self, params: Params) -> str:
        return json.dumps({
            "protocolVersion": HANDSHAKE,
            "capabilities": self.capabilities(),
            "serverInfo": {"name": "scripted", "version": "7"},
            "instructions": "Follow the script.",
        })  # fmt: skip

    def discover(self, params: Params, key: Any) -> str:
        return json.dumps({
            "supportedVersions": [MODERN],
            "capabilities": self.capabilities(),
            "instructions": "Follow the script.",
        })  # fmt: skip

    def added(self, kind: str) -> list[str]:
        head = {"tools": f'"inputSchema":{SCHEMA},', "prompts": "", "resources": '"uri":"mem://grown",'}[kind]
        return [f'{{{head}"name":"grown_{n}","description":"grown"}}' for n in range(self.grown[kind])]

    def page(self, field: str, entries: list[str], params: Params) -> str:
        cursor = params.get("cursor", "from 0")
        if not cursor.startswith("from "):
            raise ProtocolError(-32602, "no such page", {"cursor": cursor})
        first = int(cursor.removeprefix("from "))
        more = f',"nextCursor":"from {first + PAGE}"' if first + PAGE < len(entries) else ""
        return f'{{"{field}":[{",".join(entries[first : first + PAGE])}],"vendorNote":1.0{more}}}'

    def prompt(self, params: Params, key: Any) -> str:
        if params["name"] != "greet":
            raise ProtocolError(-32602, f"no prompt {params['name']}", {"name": params["name"]})
        who = json.dumps(params.get("arguments", {}).get("who"))
        block = f'{{"type":"text","text":{who},"annotations":{{"priority":0.50}}}}'
        return f'{{"messages":[{{"content":{block},"role":"user"}}],"description":"d","vendor":1.0}}'

    def read(self, params: Params, key: Any) -> str:
        uri = params["uri"]
        if uri == "mem://plain":
            return '{"contents":[{"text":"pl\\u00e4in","uri":"mem://plain","_meta":{"n":1.50,"e":1E3}}],"vendor":1.0}'
        if uri.startswith("mem://item/"):
            return f'{{"contents":[{{"uri":{json.dumps(uri)},"blob":"AAEC","mimeType":"application/x"}}]}}'
        modern = f"{PREFIX}protocolVersion" in params.get("_meta", {})
        raise ProtocolError(-32602 if modern else -32002, "Resource not found", {"uri": uri, "n": 1})

    def complete(self, params: Params, key: Any) -> str:
        values = json.dumps([params["argument"]["value"] + "x", params["ref"].get("name", params["ref"].get("uri"))])
        return f'{{"completion":{{"values":{values},"total":7,"hasMore":true}}}}'

    def set_level(self, params: Params, key: Any) -> str:
        self.level = params["level"]
        return "{}"

    def subscribe(self, params: Params, key: Any) -> str:
        if params["_method"] == "resources/subscribe":
            self.watched.add(params["uri"])
        else:
            self.watched.discard(params["uri"])
        return "{}"

    def listen(self, params: Params, key: Any) -> None:
        self.listening[key] = params["notifications"]
        meta = {f"{PREFIX}subscriptionId": key}
        told = {"notifications": params["notifications"], "_meta": meta}
        self.tell("notifications/subscriptions/acknowledged", told)

    # Tools.

    def call(self, params: Params, key: Any) -> str | None:
        name = params["name"].replace(".", "_").replace("-", "_")
        found = getattr(self, f"tool_{name}", None)
        if found is None:
            raise ProtocolError(-32602, f"Unknown tool: {params['name']}")
        return found(params.get("arguments", {}), params, key)

    def text(self, words: str) -> str:
        return f'{{"content":[{{"type":"text","text":{json.dumps(words)}}}]}}'

    def tool_seen(self, args: Params, params: Params, key: Any) -> str:
        """Tell the lines that hold a text, and not this call itself."""
        return self.text(json.dumps([line for line in self.lines if args["label"] in line and '"seen"' not in line]))

    def tool_odd(self, args: Params, params: Params, key: Any) -> str:
        return (
            '{"structuredContent":{"b":1.50,"a":1E3,"n":12345678901234567890123},"content":[{"text":"caf\\u00e9","type":'
            '"text"},{"type":"hologram","weight":1.50,"data":{"z":1,"a":null}}],"vendorField":{"kept":1.0},'
            '"_meta":{"vendor/result":"v","n":1.0}}'
        )

    def tool_echo(self, args: Params, params: Params, key: Any) -> str:
        given = json.dumps({"given": args})
        return f'{{"content":[{{"type":"text","text":{json.dumps(given)}}}],"structuredContent":{given}}}'

    def tool_bare(self, args: Params, params: Params, key: Any) -> str:
        return '{"content":[]}'

    def tool_we_ird_name_2(self, args: Params, params: Params, key: Any) -> str:
        return self.text("weird")

    def tool_progress(self, args: Params, params: Params, key: Any) -> str:
        token = params.get("_meta", {}).get("progressToken")
        for step in range(1, 4):
            if token is not None:
                told = {"progressToken": token, "progress": step, "total": 3, "message": f"{args['label']} {step}"}
                self.tell("notifications/progress", told)
        return self.text("done")

    def tool_log(self, args: Params, params: Params, key: Any) -> str:
        asked = params.get("_meta", {}).get(f"{PREFIX}logLevel")
        modern = f"{PREFIX}protocolVersion" in params.get("_meta", {})
        for level in ("debug", "info", "error"):
            wanted = asked if modern else self.level
            if wanted is not None and LEVELS.index(level) >= LEVELS.index(wanted):
                data = {"label": args["label"], "n": 1.5}
                self.tell("notifications/message", {"level": level, "logger": "script", "data": data})
        return self.text("logged")

    def asked(self, questions: Params, params: Params, number: int) -> Params | str:
        """Return the responses, or the result that asks for them."""
        if f"{PREFIX}protocolVersion" not in params.get("_meta", {}):
            kept: Params = {}
            threads = []
            for name, (method, body) in questions.items():
                take = lambda n=name, m=method, b=body: kept.__setitem__(n, self.question(m, b))  # noqa: E731
                threads.append(threading.Thread(target=take, daemon=True))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return {name: kept[name].get("result", kept[name]) for name in questions}
        state = f"{STATE}{number}"
        if params.get("requestState") == state:
            return {name: params["inputResponses"][name] for name in questions}
        if params.get("requestState", "").rstrip("0123456789") not in {"", STATE}:
            raise ProtocolError(-32602, "the state was changed", params["requestState"])
        wanted = {name: {"method": method, "params": body} for name, (method, body) in questions.items()}
        asked = {"inputRequests": wanted, "requestState": state, "resultType": "input_required"}
        return json.dumps(asked, ensure_ascii=False)

    def tool_ask(self, args: Params, params: Params, key: Any) -> str:
        told = []
        rounds = args.get("rounds", 1)
        reached = params.get("requestState", "")
        first = int(reached.removeprefix(STATE)) if reached.startswith(STATE) else 1
        for number in range(first if reached else 1, rounds + 1):
            answers = self.asked({f"k{number}": QUESTIONS[args["kind"]]}, params, number)
            if isinstance(answers, str):
                return answers
            told.append(answers)
            params = {**params, "requestState": ""} if f"{PREFIX}protocolVersion" in params.get("_meta", {}) else params
        return self.text(json.dumps(told))

    def tool_ask_many(self, args: Params, params: Params, key: Any) -> str:
        answers = self.asked({name: QUESTIONS[name] for name in ("elicitation", "sampling", "roots")}, params, 1)
        return answers if isinstance(answers, str) else self.text(json.dumps(answers))

    def tool_vendor_question(self, args: Params, params: Params, key: Any) -> str:
        return self.text(json.dumps(self.question("vendor/ask", {"label": args["label"]})))

    def tool_ping_me(self, args: Params, params: Params, key: Any) -> str:
        return self.text(json.dumps(self.question("ping", {})))

    def tool_fail(self, args: Params, params: Params, key: Any) -> str:
        raise ProtocolError(args["code"], "caf\u00e9 failed", {"deep": [1, {"label": args["label"]}]})

    def tool_tool_error(self, args: Params, params: Params, key: Any) -> str:
        return '{"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"why":"because"}}'

    def tool_wait(self, args: Params, params: Params, key: Any) -> str | None:
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            self.tell("notifications/progress", {"progressToken": token, "progress": 1, "message": args["label"]})
        if self.cancelled[key].wait(30):
            self.lines.append(json.dumps({"cancelled": args["label"]}))
            return None
        return self.text("nobody cancelled")

    def tool_stray(self, args: Params, params: Params, key: Any) -> str:
        for line in (
            "Server ready on port 1!", "", "{not json", "[1,2]", '"text"', "7", "null", "{}",
            '{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
            '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}',
            '{"jsonrpc":"2.0","method":"notifications/vendor/thing","params":{"x":1}}',
            '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}',
            '{"jsonrpc":"2.0","method":"notifications/message","params":{}}', '{"jsonrpc":"2.0","method":7}',
        ):  # fmt: skip
            self.write(line)
        return self.text("survived")

    def tool_twice(self, args: Params, params: Params, key: Any) -> str:
        self.write(
            f'{{"jsonrpc":"2.0","id":{json.dumps(key)},"result":{self.completed(self.text("one"), "tools/call")}}}'
        )
        return self.text("two")

    def tool_big(self, args: Params, params: Params, key: Any) -> str:
        return self.text("\u00e9\U0001f600x" * (BIG // 3))

    def changed(self, method: str, params: Params, wanted: Any) -> None:
        """Tell those who listen in the modern era, else everybody."""
        for key, asked in list(self.listening.items()):
            if wanted(asked):
                self.tell(method, {**params, "_meta": {f"{PREFIX}subscriptionId": key}})
        if self.eras != "modern" and not self.listening:
            self.tell(method, params)

    def tool_touch(self, args: Params, params: Params, key: Any) -> str:
        uri = args["uri"]
        if self.eras == "modern" or uri in self.watched:
            wanted = lambda asked: uri in asked.get("resourceSubscriptions", [])  # noqa: E731
            self.changed("notifications/resources/updated", {"uri": uri}, wanted)
        return self.text("touched")

    def tool_grow(self, args: Params, params: Params, key: Any) -> str:
        kind = args["kind"]
        self.grown[kind] += 1
        self.changed(f"notifications/{kind}/list_changed", {}, lambda asked: asked.get(f"{kind}ListChanged"))
        return self.text("grown")


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    Scripted(sys.argv[1]).run()
