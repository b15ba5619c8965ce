"""The station's API with sample readings: sensors to GET, notes to PUT."""

from __future__ import annotations

import json

from signet.sandbox.message import Sandbox, SandboxRequest, SandboxResponse, json_response, problem_response

SENSORS = {"roof": 21.5, "cellar": 11.25}


def build(token: str | None) -> Sandbox:
    """Build the sandbox; with a token it asks for it."""

    def handle(request: SandboxRequest) -> SandboxResponse:
        if token is not None and request.headers.get("authorization") != f"Bearer {token}":
            return problem_response(401, "no token")
        if request.method == "PUT" and request.target == "/v1/notes?draft=no":
            # A note's number follows from its text and its station, so that the same note has the same number.
            return json_response({"number": len(json.loads(request.body)["text"] + request.headers["x-station"])})
        sensor = request.path.removeprefix("/v1/sensors/")
        if request.method == "GET" and sensor in SENSORS:
            return json_response({"value": SENSORS[sensor], "unit": "celsius", "day": ""})
        return problem_response(404, "no such thing")

    return Sandbox("station", handle, {"plays": "a weather station"})
