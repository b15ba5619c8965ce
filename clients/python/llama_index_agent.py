"""llama-index: a run of a FunctionAgent with its own MockFunctionCallingLLM."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.agent.workflow.workflow_events import ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from plan import GOOD, HANG, PATIENCE_S, PLAN, TOOL, WRONG_CODE, WRONG_ORDER, Script, probe


def client(**options):
    if PLAN["door"] == "http":
        return BasicMCPClient(PLAN["url"], **options)
    command, *args = PLAN["command"]
    return BasicMCPClient(command, args=args, **options)


async def run(*calls, **options):
    """Return the texts that the model is given for its calls."""
    script = Script(*calls)

    def model(messages, **_):
        arguments = script.next()
        if arguments is None:
            return ChatMessage(role="assistant", content="done")
        call = ToolCallBlock(tool_call_id=str(script.turn), tool_name=TOOL, tool_kwargs=arguments)
        return ChatMessage(role="assistant", blocks=[TextBlock(text=""), call])

    agent = FunctionAgent(
        tools=await McpToolSpec(client(**options)).to_tool_list_async(),
        llm=MockFunctionCallingLLM(response_generator=model, is_chat_model=True),
        streaming=False,
    )
    handler = agent.run("go")
    texts = [event.tool_output.content async for event in handler.stream_events() if isinstance(event, ToolCallResult)]
    await handler
    assert script.ended
    return texts


async def tools():
    listed = await McpToolSpec(client()).to_tool_list_async()
    return {"tools": {tool.metadata.name: tool.metadata.get_parameters_dict() for tool in listed}}


async def call():
    return {"text": (await run(GOOD))[0]}


async def error():
    code, order, text = await run(WRONG_CODE, WRONG_ORDER, GOOD)
    return {"code": code, "order": order, "text": text}


async def cancel():
    said, text = await run(HANG, GOOD, timeout=PATIENCE_S)
    return {"text": text, "said": said}


lacks = "its tools ask for no progress: `McpToolSpec` calls `call_tool` without a callback"
asyncio.run(probe(list=tools, call=call, error=error, cancel=cancel, progress=lacks))
