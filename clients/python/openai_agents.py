"""openai-agents: a run of an agent with a scripted model."""

import asyncio
import json

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from plan import GOOD, HANG, PATIENCE_S, PLAN, TOOL, WRONG_CODE, WRONG_ORDER, Script, probe

set_tracing_disabled(True)


class ScriptedModel(Model):
    def __init__(self, script):
        self.script = script
        self.tools = {}

    async def get_response(self, *positional, **named):
        # The fourth argument, by place or by name, as the runner calls it.
        tools = named["tools"] if "tools" in named else positional[3]
        self.tools = {tool.name: tool.params_json_schema for tool in tools}
        arguments, turn = self.script.next(), str(self.script.turn)
        if arguments is None:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            item = ResponseOutputMessage(id=turn, type="message", role="assistant", status="completed", content=[text])
        else:
            item = ResponseFunctionToolCall(
                type="function_call", name=TOOL, arguments=json.dumps(arguments), call_id=turn
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *rest, **options):
        raise NotImplementedError


async def run(server, *calls):
    """Return the texts that the model is given for its calls, and the tools that it was offered."""
    script = Script(*calls)
    model = ScriptedModel(script)
    result = await Runner.run(Agent(name="probe", model=model, mcp_servers=[server]), "go")
    assert script.ended
    assert result.final_output == "done"
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    return [json.dumps(output, ensure_ascii=False) for output in outputs], model.tools


async def main():
    if PLAN["door"] == "http":
        server = MCPServerStreamableHttp({"url": PLAN["url"]}, client_session_timeout_seconds=PATIENCE_S)
    else:
        command, *args = PLAN["command"]
        server = MCPServerStdio({"command": command, "args": args}, client_session_timeout_seconds=PATIENCE_S)
    async with server:

        async def tools():
            return {"tools": (await run(server))[1]}

        async def call():
            return {"text": (await run(server, GOOD))[0][0]}

        async def error():
            code, order, text = (await run(server, WRONG_CODE, WRONG_ORDER, GOOD))[0]
            return {"code": code, "order": order, "text": text}

        async def cancel():
            said, text = (await run(server, HANG, GOOD))[0]
            return {"text": text, "said": said}

        lacks = "it asks for no progress: `MCPServer.call_tool` passes no callback to the session"
        await probe(list=tools, call=call, error=error, cancel=cancel, progress=lacks)


asyncio.run(main())
