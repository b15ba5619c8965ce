"""One conversation of the official SDK's client with the reference server, through whatever stands between them."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning

from processes import PATIENCE_S
from wrap.reference_content import WATCHED

MODES = {"handshake": "legacy", "modern": "2026-07-28"}
FORM = {"username": "ada", "email": "ada@example.invalid"}


@dataclass
class Heard:
    """What the client was told and asked."""

    logs: list[tuple[str, Any, str | None]] = field(default_factory=list)
    forms: list[tuple[str, Any]] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)

    async def fill_in(self, _: Any, params: Any) -> types.ElicitResult:
        """Fill in a form: each text with its own name."""
        self.forms.append((params.message, params.requested_schema))
        content = {name: FORM.get(name, name) for name in params.requested_schema["properties"]}
        return types.ElicitResult(action="accept", content=content)

    async def sample(self, _: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        """Answer as a model."""
        block = params.messages[0].content
        assert isinstance(block, types.TextContent)
        self.prompts.append(block.text)
        reply = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=reply, model="m")

    async def list_roots(self, _: Any) -> types.ListRootsResult:
        """Name one folder."""
        return types.ListRootsResult(roots=[types.Root(uri="file:///work", name="work")])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Keep a log message."""
        self.logs.append((params.level, params.data, params.logger))

    async def take(self, message: Any) -> None:
        """Keep what changed."""
        if isinstance(message, types.ResourceUpdatedNotification):
            self.changes.append(f"updated {message.params.uri}")
        elif isinstance(message, types.ToolListChangedNotification):
            self.changes.append("tools")
        elif isinstance(message, types.PromptListChangedNotification):
            self.changes.append("prompts")

    async def count(self, progress: float, total: float | None, message: str | None) -> None:
        """Keep a report of progress."""
        self.progress.append((progress, total, message))


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def connected(door: str | StdioServerParameters, era: str) -> AsyncIterator[tuple[Client, Heard]]:
    """Connect the SDK's client in one era."""
    heard = Heard()
    client = Client(
        door,
        mode=MODES[era],  # type: ignore[arg-type]
        read_timeout_seconds=PATIENCE_S,
        elicitation_callback=heard.fill_in,
        sampling_callback=heard.sample,
        list_roots_callback=heard.list_roots,
        logging_callback=heard.log,
        log_level="info" if era == "modern" else None,
        message_handler=heard.take,
        cache=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        async with client:
            yield client, heard


def words(result: Any) -> str:
    """Return the text of a result."""
    return str(result.content[0].text)


async def converse(door: str | StdioServerParameters, era: str) -> dict[str, Any]:
    """Use every capability once, and return what came of it."""
    async with connected(door, era) as (client, heard):
        seen: dict[str, Any] = {"version": client.protocol_version}
        await client.list_tools()
        await _questions(client, heard, seen)
        result = await client.call_tool("test_tool_with_progress", {}, progress_callback=heard.count)
        seen["progress"] = (words(result), heard.progress)
        await _logs(client, heard, seen, era)
        reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        completed = await client.complete(reference, {"name": "arg1", "value": "par"})
        seen["completion"] = (completed.completion.values, completed.completion.total, completed.completion.has_more)
        await (_standing_changes if era == "handshake" else _listened_changes)(client, heard, seen)
        await _cancellation(client, seen, era)
    return seen


async def _questions(client: Client, heard: Heard, seen: dict[str, Any]) -> None:
    seen["elicitation"] = words(await client.call_tool("test_elicitation", {"message": "Who?"}))
    seen["form"] = heard.forms[0]
    seen["sampling"] = words(await client.call_tool("test_sampling", {"prompt": "Capital?"}))
    seen["sampled"] = list(heard.prompts)
    seen["roots"] = words(await client.call_tool("test_input_required_result_list_roots", {}))
    seen["rounds"] = words(await client.call_tool("test_input_required_result_multi_round", {}))
    seen["several"] = words(await client.call_tool("test_input_required_result_multiple_inputs", {}))
    prompted = await client.get_prompt("test_input_required_result_prompt", {})
    seen["prompt"] = prompted.messages[0].content.text  # type: ignore[union-attr]


async def _logs(client: Client, heard: Heard, seen: dict[str, Any], era: str) -> None:
    if era == "handshake":
        await client.set_logging_level("info")
    await client.call_tool("test_tool_with_logging", {})
    await until(lambda: len(heard.logs) >= 3)
    seen["logs"] = list(heard.logs)


async def _standing_changes(client: Client, heard: Heard, seen: dict[str, Any]) -> None:
    await client.subscribe_resource(WATCHED)
    for tool, change in (
        ("touch_watched_resource", f"updated {WATCHED}"),
        ("test_trigger_tool_change", "tools"),
        ("test_trigger_prompt_change", "prompts"),
    ):
        await client.call_tool(tool, {})
        await until(lambda wanted=change: wanted in heard.changes)
        seen[f"change {change.partition(' ')[0]}"] = True
    await client.unsubscribe_resource(WATCHED)


async def _listened_changes(client: Client, heard: Heard, seen: dict[str, Any]) -> None:
    wanted = {"tools_list_changed": True, "prompts_list_changed": True, "resource_subscriptions": [WATCHED]}
    async with client.listen(**wanted) as stream:  # type: ignore[arg-type]
        events = aiter(stream)
        for tool, change in (
            ("touch_watched_resource", "ResourceUpdated"),
            ("test_trigger_tool_change", "ToolsListChanged"),
            ("test_trigger_prompt_change", "PromptsListChanged"),
        ):
            await client.call_tool(tool, {})
            async with asyncio.timeout(PATIENCE_S):
                event = await anext(events)
            name = {"ResourceUpdated": "updated", "ToolsListChanged": "tools", "PromptsListChanged": "prompts"}[change]
            seen[f"change {name}"] = type(event).__name__ == change


async def _cancellation(client: Client, seen: dict[str, Any], era: str) -> None:
    started = asyncio.Event()

    async def begun(*_: Any) -> None:
        started.set()

    label = f"cancelled by {era}"
    call = asyncio.ensure_future(client.call_tool("wait_for_cancellation", {"label": label}, progress_callback=begun))
    async with asyncio.timeout(PATIENCE_S):
        await started.wait()
    call.cancel()
    await asyncio.wait([call])
    async with asyncio.timeout(PATIENCE_S):
        while label not in words(await client.call_tool("list_cancelled_calls", {})):
            await asyncio.sleep(0.02)
    seen["cancelled"] = True
