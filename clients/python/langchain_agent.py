"""LangChain: an agent of `create_agent` with the tools of langchain-mcp-adapters and a scripted chat model."""

import asyncio
from datetime import timedelta

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from plan import GOOD, HANG, PATIENCE_S, PLAN, SLOW, TOOL, WRONG_CODE, WRONG_ORDER, Script, give_up, probe

reported = []


class ScriptedChat(BaseChatModel):
    script: object

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        arguments = self.script.next()
        turn = str(self.script.turn)
        calls = [] if arguments is None else [{"name": TOOL, "args": arguments, "id": turn, "type": "tool_call"}]
        message = AIMessage("" if calls else "done", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def note(done, total, message, context):
    reported.append(message)


def servers(**session_options):
    if PLAN["door"] == "http":
        way = {"transport": "streamable_http", "url": PLAN["url"]}
    else:
        command, *args = PLAN["command"]
        way = {"transport": "stdio", "command": command, "args": args}
    return MultiServerMCPClient(
        {"signet": {**way, "session_kwargs": session_options}}, callbacks=Callbacks(on_progress=note)
    )


async def run(*calls, **session_options):
    """Return the texts that the model is given for its calls; fail if the run ends before the model has ended it."""
    script = Script(*calls)
    agent = create_agent(ScriptedChat(script=script), await servers(**session_options).get_tools())
    state = await agent.ainvoke({"messages": [("user", "go")]})
    assert script.ended
    return [str(message.content) for message in state["messages"] if isinstance(message, ToolMessage)]


async def tools():
    listed = [convert_to_openai_tool(tool)["function"] for tool in await servers().get_tools()]
    return {"tools": {tool["name"]: tool["parameters"] for tool in listed}}


async def call():
    return {"text": (await run(GOOD))[0]}


async def error():
    code, order, text = await run(WRONG_CODE, WRONG_ORDER, GOOD)
    return {"code": code, "order": order, "text": text}


async def cancel():
    said = await give_up(run(HANG, read_timeout_seconds=timedelta(seconds=PATIENCE_S)))
    return {"text": (await run(GOOD))[0], "said": said}


async def progress():
    reported.clear()
    return {"text": (await run(SLOW))[0], "progress": len(reported)}


asyncio.run(probe(list=tools, call=call, error=error, cancel=cancel, progress=progress))
