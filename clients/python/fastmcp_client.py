"""FastMCP's client."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from plan import GOOD, HANG, PATIENCE_S, PLAN, SLOW, TOOL, WRONG_CODE, WRONG_ORDER, give_up, probe


async def main():
    command, *args = PLAN["command"]
    door = PLAN["url"] if PLAN["door"] == "http" else StdioTransport(command=command, args=args)
    async with Client(door) as client:

        async def text(arguments, *, is_error=False, **options):
            result = await client.call_tool(TOOL, arguments, raise_on_error=False, **options)
            assert result.is_error is is_error, result
            return "".join(block.text for block in result.content)

        async def tools():
            listed = await client.list_tools()
            dumped = [tool.model_dump(by_alias=True, exclude_unset=True) for tool in listed]
            return {"tools": {tool["name"]: tool["inputSchema"] for tool in dumped}}

        async def call():
            return {"text": await text(GOOD)}

        async def error():
            return {"code": await text(WRONG_CODE, is_error=True), "order": await text(WRONG_ORDER, is_error=True)}

        async def cancel():
            await give_up(client.call_tool(TOOL, HANG, timeout=PATIENCE_S))
            return {"text": await text(GOOD)}

        async def progress():
            seen = []

            async def note(done, total, message):
                seen.append(message)

            answer = await text(SLOW, progress_handler=note)
            return {"text": answer, "progress": len(seen)}

        await probe(list=tools, call=call, error=error, cancel=cancel, progress=progress)


asyncio.run(main())
