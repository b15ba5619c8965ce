"""The official SDK, major version 1; mcp-proxy too, which is a server on stdio to its client."""

import asyncio
import contextlib
import inspect
from datetime import timedelta

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from plan import GOOD, HANG, PATIENCE_S, PLAN, SLOW, TOOL, WRONG_CODE, WRONG_ORDER, give_up, probe

PARAMETERS = inspect.signature(ClientSession.call_tool).parameters


@contextlib.asynccontextmanager
async def session():
    if PLAN["door"] == "http":
        from mcp.client.streamable_http import streamablehttp_client

        streams = streamablehttp_client(PLAN["url"])
    else:
        command, *args = PLAN["command"]
        streams = stdio_client(StdioServerParameters(command=command, args=args))
    async with streams as (read, write, *_), ClientSession(read, write) as opened:
        await opened.initialize()
        yield opened


async def main():
    async with session() as client:

        async def text(arguments, *, is_error=False, **options):
            result = await client.call_tool(TOOL, arguments, **options)
            assert result.isError is is_error, result
            return "".join(block.text for block in result.content)

        async def tools():
            return {"tools": {tool.name: tool.inputSchema for tool in (await client.list_tools()).tools}}

        async def call():
            return {"text": await text(GOOD)}

        async def error():
            return {"code": await text(WRONG_CODE, is_error=True), "order": await text(WRONG_ORDER, is_error=True)}

        async def cancel():
            if "read_timeout_seconds" in PARAMETERS:
                await give_up(client.call_tool(TOOL, HANG, read_timeout_seconds=timedelta(seconds=PATIENCE_S)))
            else:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(client.call_tool(TOOL, HANG), PATIENCE_S)
            return {"text": await text(GOOD)}

        async def progress():
            seen = []

            async def note(done, total, message=None):
                seen.append(message)

            answer = await text(SLOW, progress_callback=note)
            return {"text": answer, "progress": len(seen)}

        if "progress_callback" not in PARAMETERS:
            progress = "this version's `call_tool` sends no progress token"
        await probe(list=tools, call=call, error=error, cancel=cancel, progress=progress)


asyncio.run(main())
