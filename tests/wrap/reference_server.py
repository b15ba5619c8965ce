"""A server of every capability, written with the official SDK: `reference_server.py stdio` or `… serve`.

Its fixtures have the names that the conformance suite calls. In each era it asks for input in that era's own way:
a request of its own in the handshake era, an `input_required` result in the modern one.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata

from wrap.reference_content import (
    CONTENT,
    HEADER_SCHEMA,
    OBJECT,
    PROMPTS,
    QUESTIONS,
    RESOURCES,
    RICH_SCHEMA,
    STEPS,
    TEMPLATES,
    WATCHED,
    form,
    prompt_messages,
    resource_contents,
    sampling,
    text,
)

MODERN = "2026-07-28"
Context = ServerRequestContext[Any, Any]
Answers = Mapping[str, Any]
Asking = types.CallToolRequestParams | types.GetPromptRequestParams

bus = InMemorySubscriptionBus()
watchers: dict[str, list[Any]] = {}
"""The sessions of the handshake era that asked for a resource."""
cancelled: list[str] = []
"""The labels of calls that were cancelled."""
extra_tools: list[str] = []
extra_prompts: list[str] = []


def _answer_type(question: types.InputRequest) -> type[Any]:
    if isinstance(question, types.ElicitRequest):
        return types.ElicitResult
    return types.CreateMessageResult if isinstance(question, types.CreateMessageRequest) else types.ListRootsResult


async def _ask(
    ctx: Context, params: Asking, questions: Mapping[str, Any], state: str | None = None
) -> Answers | types.InputRequiredResult:
    """Return the caller's answers, or the result that asks for them."""
    if ctx.protocol_version != MODERN:
        about = ServerMessageMetadata(related_request_id=ctx.request_id)
        return {
            key: await ctx.session.send_request(question, _answer_type(question), metadata=about)
            for key, question in questions.items()
        }
    given = params.input_responses or {}
    if all(isinstance(given.get(key), _answer_type(question)) for key, question in questions.items()):
        return given
    return types.InputRequiredResult(input_requests=dict(questions), request_state=state)


def _told(answers: Answers) -> str:
    return json.dumps(
        {key: answer.model_dump(mode="json", by_alias=True, exclude_none=True) for key, answer in answers.items()}
    )


def _result(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(words)])


async def _asking_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    """Ask what the tool of this name asks, and tell the answers."""
    stated = {"request_state", "tampered_state", "multiple_inputs"}
    state = params.name if params.name.removeprefix("test_input_required_result_") in stated else None
    answers = await _ask(ctx, params, QUESTIONS[params.name], state)
    if isinstance(answers, types.InputRequiredResult):
        return answers
    if params.name == "test_input_required_result_elicitation":
        return _result(f"Hello, {(answers['user_name'].content or {}).get('name')}!")
    if params.name.startswith("test_elicitation_"):
        answer = answers["answer"]
        return _result(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")
    kept = state is not None and (ctx.protocol_version != MODERN or params.request_state == state)
    return _result(f"{'state-ok ' if kept else ''}{_told(answers)}")


async def _two_rounds(ctx: Context, params: types.CallToolRequestParams) -> Any:
    if ctx.protocol_version != MODERN:
        told = [await _ask(ctx, params, step) for step in STEPS]
        return _result(
            " ".join(_told(answers) for answers in told if not isinstance(answers, types.InputRequiredResult))
        )
    step = 1 if params.request_state == "second" else 0
    answers = await _ask(ctx, params, STEPS[step], ("first", "second")[step])
    if isinstance(answers, types.InputRequiredResult):
        return answers
    if step == 0:
        return types.InputRequiredResult(input_requests=dict(STEPS[1]), request_state="second")
    return _result(_told(answers))


async def _declared_only(ctx: Context, params: types.CallToolRequestParams) -> Any:
    """Ask only what the client declares."""
    declared = ctx.session.client_capabilities or types.ClientCapabilities()
    questions: dict[str, Any] = {}
    if declared.sampling is not None:
        questions["capital_question"] = sampling("What is the capital of France?", 100)
    if declared.elicitation is not None:
        questions["user_name"] = form("What is your name?", {"name": {"type": "string"}})
    if not questions:
        return _result("nothing can be asked")
    answers = await _ask(ctx, params, questions)
    return answers if isinstance(answers, types.InputRequiredResult) else _result(_told(answers))


async def _sampling_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    answers = await _ask(ctx, params, {"reply": sampling((params.arguments or {})["prompt"], 100)})
    if isinstance(answers, types.InputRequiredResult):
        return answers
    return _result(f"LLM response: {answers['reply'].content.text}")


async def _elicitation_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answers = await _ask(ctx, params, {"reply": form((params.arguments or {})["message"], properties)})
    if isinstance(answers, types.InputRequiredResult):
        return answers
    reply = answers["reply"]
    return _result(f"User response: action={reply.action}, content={json.dumps(reply.content)}")


async def _logging_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", words, "reference", related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return _result("Logged.")


async def _progress_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(0.05)
    return _result("Done.")


async def _error_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    words = "This tool intentionally returns an error for testing"
    return types.CallToolResult(content=[text(words)], is_error=True)


async def _missing_capability(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    declared = ctx.session.client_capabilities
    if declared is None or declared.sampling is None:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling", data=data)
    return _result("ok")


async def _tool_change(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    extra_tools.append(f"added_{len(extra_tools) + 1}")
    await bus.publish(ToolsListChanged())
    if ctx.protocol_version != MODERN:
        await ctx.session.send_tool_list_changed()
    return _result("changed")


async def _prompt_change(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    extra_prompts.append(f"added_{len(extra_prompts) + 1}")
    await bus.publish(PromptsListChanged())
    if ctx.protocol_version != MODERN:
        await ctx.session.send_prompt_list_changed()
    return _result("changed")


async def _touch(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Tell all who watch the resource that it changed."""
    await bus.publish(ResourceUpdated(uri=WATCHED))
    for session in watchers.get(WATCHED, []):
        await session.send_resource_updated(WATCHED)
    return _result("touched")


async def _wait(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Wait until the call is cancelled."""
    label = (params.arguments or {})["label"]
    await ctx.session.report_progress(1, None, "waiting")
    try:
        await asyncio.sleep(600)
    finally:
        cancelled.append(label)
    return _result("nobody cancelled")


async def _was_cancelled(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    return _result(json.dumps(cancelled))


ACTIONS = {
    **dict.fromkeys(QUESTIONS, _asking_tool),
    "test_input_required_result_multi_round": _two_rounds,
    "test_input_required_result_capabilities": _declared_only,
    "test_sampling": _sampling_tool,
    "test_elicitation": _elicitation_tool,
    "test_tool_with_logging": _logging_tool,
    "test_logging_tool": _logging_tool,
    "test_tool_with_progress": _progress_tool,
    "test_error_handling": _error_tool,
    "test_missing_capability": _missing_capability,
    "test_trigger_tool_change": _tool_change,
    "test_trigger_prompt_change": _prompt_change,
    "touch_watched_resource": _touch,
    "wait_for_cancellation": _wait,
    "list_cancelled_calls": _was_cancelled,
}
SCHEMAS = {
    "json_schema_2020_12_tool": RICH_SCHEMA,
    "test_x_mcp_header": HEADER_SCHEMA,
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "wait_for_cancellation": {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]},
}


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    names = [*CONTENT, *ACTIONS, *extra_tools]
    tools = [
        types.Tool(name=name, description=f"Fixture {name}", input_schema=SCHEMAS.get(name, OBJECT)) for name in names
    ]
    return types.ListToolsResult(tools=tools)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
    if params.name in ACTIONS:
        return await ACTIONS[params.name](ctx, params)
    if params.name in CONTENT:
        return types.CallToolResult(content=CONTENT[params.name])
    raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    added = [types.Prompt(name=name, description="Added while running") for name in extra_prompts]
    return types.ListPromptsResult(prompts=[*PROMPTS, *added])


async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> Any:
    if params.name == "test_input_required_result_prompt":
        question = form("What context should the prompt use?", {"context": {"type": "string"}})
        answers = await _ask(ctx, params, {"user_context": question})
        if isinstance(answers, types.InputRequiredResult):
            return answers
        message = types.PromptMessage(role="user", content=text(_told(answers)))
        return types.GetPromptResult(messages=[message])
    messages = prompt_messages(params.name, params.arguments or {})
    if messages is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return types.GetPromptResult(messages=messages)


async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=RESOURCES)


async def list_templates(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    contents = resource_contents(params.uri)
    if contents is None:
        code = types.INVALID_PARAMS if ctx.protocol_version == MODERN else -32002
        raise MCPError(code, "Resource not found", data={"uri": params.uri})
    return types.ReadResourceResult(contents=[contents])


async def subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    watchers.setdefault(params.uri, []).append(ctx.session)
    return types.EmptyResult()


async def unsubscribe(ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    watchers.pop(params.uri, None)
    return types.EmptyResult()


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=words, total=len(words), has_more=False))


async def set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


class ReferenceServer(Server[Any]):
    """The SDK's server, which declares in every door that its lists change."""

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> Any:
        changing = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        return super().create_initialization_options(changing)


def _server() -> ReferenceServer:
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    made = ReferenceServer(
        "reference",
        version="1.0.0",
        instructions="A server of every capability.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_subscriptions_listen=ListenHandler(bus),
        on_completion=complete,
        on_set_logging_level=set_level,
    )
    made.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="reference"))
    return made


async def _run_stdio(server: ReferenceServer) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _serve(server: ReferenceServer) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(server.streamable_http_app(), http="h11", ws="none", log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        _serve(_server())
    else:
        asyncio.run(_run_stdio(_server()))
        os._exit(0)
