"""pydantic-ai: a run of an agent with its own FunctionModel."""

import asyncio
import json

from fastmcp.client.transports import StdioTransport
from plan import GOOD, HANG, PATIENCE_S, PLAN, SLOW, TOOL, WRONG_CODE, WRONG_ORDER, Script, give_up, probe
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

reported = []


async def note(done, total, message):
    reported.append(message)


def toolset(**options):
    if PLAN["door"] == "http":
        return MCPToolset(PLAN["url"], progress_handler=note, **options)
    command, *args = PLAN["command"]
    return MCPToolset(StdioTransport(command=command, args=args, keep_alive=False), progress_handler=note, **options)


async def run(*calls, **options):
    """Return the texts that the model is given for its calls, and the tools that it was offered."""
    script, texts, offered = Script(*calls), [], {}

    def model(messages, info):
        offered.update({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        arguments = script.next()
        if script.turn > 1:
            parts = messages[-1].parts
            texts.extend(json.dumps(getattr(part, "content", None), default=str, ensure_ascii=False) for part in parts)
        return ModelResponse([TextPart("done") if arguments is None else ToolCallPart(TOOL, arguments)])

    agent = Agent(FunctionModel(model), toolsets=[toolset(**options)])
    result = await agent.run("go")
    assert script.ended
    assert result.output == "done"
    return texts, offered


async def tools():
    return {"tools": (await run())[1]}


async def call():
    return {"text": (await run(GOOD))[0][0]}


async def error():
    (code, _), _ = await run(WRONG_CODE, GOOD)
    (order, text), _ = await run(WRONG_ORDER, GOOD)
    return {"code": code, "order": order, "text": text}


async def cancel():
    said = await give_up(run(HANG, read_timeout=PATIENCE_S, max_retries=0))
    return {"text": (await run(GOOD))[0][0], "said": said}


async def progress():
    reported.clear()
    return {"text": (await run(SLOW))[0][0], "progress": len(reported)}


asyncio.run(probe(list=tools, call=call, error=error, cancel=cancel, progress=progress))
