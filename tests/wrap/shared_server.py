"""A server of the handshake era on stdio with tasks, subscriptions, log messages and questions, for several callers.

To it all of them are one client: it answers whoever knows an id. It ends no task before it is told to. It answers a
subscription to `mem://slow` when the tool `touch` has named `mem://go`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PAGE = 1
NAMES = ("work", "finish", "touch", "say", "ask", "ask_for", "late", "count", "answers")
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {
        "tools": {},
        "logging": {},
        "resources": {"subscribe": True},
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
    },
    "serverInfo": {"name": "shared", "version": "1"},
}
QUESTION = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
RELATED = "io.modelcontextprotocol/related-task"

tasks: dict[str, dict[str, Any]] = {}
secrets: dict[str, str] = {}
subscribed: set[str] = set()
waiting: dict[str, Any] = {}
answers: list[Any] = []
slow: list[Any] = []
"""The ids of subscriptions that are not answered yet."""
calls = 0


def write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(said)}]}


def ask(call: Any, params: dict[str, Any]) -> None:
    """Ask the client; its answer is that of a call, if there is one."""
    number = f"q{len(waiting)}"
    waiting[number] = call
    write(id=number, method="elicitation/create", params=params)


def begin(secret: str, task: dict[str, Any]) -> dict[str, Any]:
    name = f"task-{len(tasks) + 1}"
    secrets[name] = secret
    tasks[name] = {"taskId": name, "status": "working", "ttl": task.get("ttl"), "createdAt": "2026-01-01T00:00:00Z"}
    return {"task": tasks[name]}


def call(number: Any, params: dict[str, Any]) -> Any:
    """Return the result of a call; None if it comes later."""
    global calls  # noqa: PLW0603 - the state of a small program
    name, arguments = params["name"], params.get("arguments", {})
    if name == "work":
        return begin(arguments["secret"], params["task"]) if "task" in params else text(arguments["secret"])
    if name == "finish":
        tasks[arguments["task"]]["status"] = "completed"
        write(method="notifications/tasks/status", params=tasks[arguments["task"]])
    if name == "touch" and arguments["uri"] == "mem://go":
        while slow:
            write(id=slow.pop(), result={})
    elif name == "touch":
        write(method="notifications/resources/updated", params={"uri": arguments["uri"]})
    if name == "say":
        write(method="notifications/message", params={"level": "warning", "data": arguments["text"]})
    if "progressToken" in params.get("_meta", {}):
        write(
            method="notifications/progress", params={"progressToken": params["_meta"]["progressToken"], "progress": 1}
        )
    if name in {"ask", "ask_for"}:
        related = {"_meta": {RELATED: {"taskId": arguments["task"]}}} if name == "ask_for" else {}
        ask(number if name == "ask" else None, {**QUESTION, **related})
        return None if name == "ask" else text("asked")
    if name == "late":
        write(id=number, result=text("done"))
        write(method="notifications/message", params={"level": "warning", "data": arguments["text"]})
        write(method="notifications/vendor", params={"data": arguments["text"]})
        ask(None, {**QUESTION, "message": arguments["text"]})
        return None
    calls += 1
    return text(answers if name == "answers" else calls)


def answer(number: Any, method: str, params: dict[str, Any]) -> Any:
    """Return the result of a request; None if it comes later."""
    if method == "tools/call":
        return call(number, params)
    if method == "tasks/list":
        start = int(params.get("cursor", 0))
        page = {"tasks": list(tasks.values())[start : start + PAGE]}
        return {**page, "nextCursor": str(start + PAGE)} if start + PAGE < len(tasks) else page
    if method in {"tasks/get", "tasks/result", "tasks/cancel"}:
        task = tasks[params["taskId"]]
        if method == "tasks/cancel":
            task["status"] = "cancelled"
        return text(secrets[params["taskId"]]) if method == "tasks/result" else task
    if method in {"resources/subscribe", "resources/unsubscribe"}:
        (subscribed.add if method == "resources/subscribe" else subscribed.discard)(params["uri"])
        if (method, params["uri"]) == ("resources/subscribe", "mem://slow"):
            slow.append(number)
            return None
        return {}
    results: dict[str, Any] = {
        "initialize": HELLO,
        "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]},
        "resources/list": {"resources": [{"uri": "mem://x", "name": "x"}]},
        "resources/templates/list": {"resourceTemplates": []},
        "resources/read": {"contents": [{"uri": "mem://x", "text": json.dumps(sorted(subscribed))}]},
    }
    return results.get(method, {})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message:
            answers.append("result" in message)
            number = waiting.get(message["id"])
            if number is not None:
                write(id=number, result=text(message.get("result", "refused")))
        elif message.get("id") is not None:
            try:
                result = answer(message["id"], message["method"], message.get("params", {}))
            except KeyError as error:
                write(id=message["id"], error={"code": -32602, "message": f"unknown {error}"})
                continue
            if result is not None:
                write(id=message["id"], result=result)


if __name__ == "__main__":
    main()
