"""mcpo: an OpenAPI server in front of the tools, asked by plain HTTP as Open WebUI asks it."""

import asyncio
import json
import urllib.error
import urllib.request
from http import HTTPStatus

from plan import GOOD, HANG, PATIENCE_S, PLAN, TOOL, WRONG_CODE, WRONG_ORDER, give_up, probe


def fetch(path, value=None, timeout=30):
    """Return the status and the body of an answer."""
    body = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(PLAN["url"] + path, body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


async def text(arguments, *, is_error=False, patience_s=30):
    status, body = await asyncio.to_thread(fetch, f"/{TOOL}", arguments, patience_s)
    assert (status != HTTPStatus.OK) is is_error, (status, body)
    return body


async def tools():
    document = json.loads((await asyncio.to_thread(fetch, "/openapi.json"))[1])
    schemas = {}
    for path, methods in document["paths"].items():
        body = methods["post"].get("requestBody", {"content": {"application/json": {"schema": {"type": "object"}}}})
        schema = body["content"]["application/json"]["schema"]
        if "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        schemas[path.removeprefix("/")] = schema
    return {"tools": schemas}


async def call():
    return {"text": await text(GOOD)}


async def error():
    return {"code": await text(WRONG_CODE, is_error=True), "order": await text(WRONG_ORDER, is_error=True)}


async def cancel():
    await give_up(text(HANG, patience_s=PATIENCE_S))
    return {"text": await text(GOOD)}


lacks = "OpenAPI has no progress, and mcpo asks for none"
asyncio.run(probe(list=tools, call=call, error=error, cancel=cancel, progress=lacks))
