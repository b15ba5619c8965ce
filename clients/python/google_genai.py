"""google-genai: automatic function calling over an MCP session; a server on loopback plays the model's API."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google import genai
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from plan import GOOD, HANG, PATIENCE_S, PLAN, TOOL, WRONG_CODE, WRONG_ORDER, Script, probe


class Gemini(BaseHTTPRequestHandler):
    """Answers each request with the next turn of the script, and keeps what it was sent."""

    script = Script()
    request = None

    def do_POST(self):
        Gemini.request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        arguments = Gemini.script.next()
        part = {"text": "done"} if arguments is None else {"functionCall": {"name": TOOL, "args": arguments}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        content = json.dumps({"candidates": [candidate]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Print nothing."""


async def run(model, session, *calls):
    """Return the texts that the model is given for its calls, and the tools that it was offered."""
    Gemini.script = Script(*calls)
    # A dict, because a GenerateContentConfig would be copied with the session in it.
    await model.aio.models.generate_content(model="scripted", contents="go", config={"tools": [session]})
    assert Gemini.script.ended
    parts = [part for content in Gemini.request["contents"] for part in content["parts"]]
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    tools = {
        declared["name"]: declared.get("parameters") or declared.get("parametersJsonSchema")
        for tool in Gemini.request["tools"]
        for declared in tool["functionDeclarations"]
    }
    return [json.dumps(answer, ensure_ascii=False) for answer in answers], tools


async def main(model):
    if PLAN["door"] == "http":
        streams = streamable_http_client(PLAN["url"])
    else:
        command, *args = PLAN["command"]
        streams = stdio_client(StdioServerParameters(command=command, args=args))
    async with (
        streams as (read, write, *_),
        ClientSession(read, write, read_timeout_seconds=PATIENCE_S) as session,
    ):
        await session.initialize()

        async def tools():
            return {"tools": (await run(model, session))[1]}

        async def call():
            return {"text": (await run(model, session, GOOD))[0][0]}

        async def error():
            code, order, text = (await run(model, session, WRONG_CODE, WRONG_ORDER, GOOD))[0]
            return {"code": code, "order": order, "text": text}

        async def cancel():
            said, text = (await run(model, session, HANG, GOOD))[0]
            return {"text": text, "said": said}

        lacks = "it asks for no progress: its adapter calls `call_tool` without a callback"
        await probe(list=tools, call=call, error=error, cancel=cancel, progress=lacks)


with ThreadingHTTPServer(("127.0.0.1", 0), Gemini) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        asyncio.run(main(genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=address))))
    finally:
        server.shutdown()
