"""Calls of a document's tools as a service sees them: paths, bodies, secrets, addresses; and the answers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from signet.kernel.errors import Code, Fault
from signet.kernel.upstream import UpstreamResponse
from signet.openapi.plan import OperationPlan
from signet.openapi.response import MAX_BODY_BYTES, result_of
from signet.openapi.toolset import DocumentError

from .documents import document, echo, made, operation
from .every_operation import call_all

PLAN = OperationPlan(name="t", slug="t.t", title="t", description="t", method="GET", path="/")
FILE = base64.b64encode(b"\x00\xff\r\n").decode()


def asked(folder: Path, value: Any, *calls: tuple[str, Any], **environ: str) -> list[Any]:
    """Return what a service was sent by calls, or the faults of those that sent nothing."""
    with echo() as service:
        outcomes = call_all(made(folder, value, base_url=service.url), calls, **environ)
    return [one.fault or one.result for one in outcomes]


def body_of(folder: Path, media_type: str, schema: Any, arguments: Any, encoding: Any = None) -> tuple[str, str]:
    content = {media_type: {"schema": schema, **({"encoding": encoding} if encoding else {})}}
    one = {"operationId": "send", "requestBody": {"required": True, "content": content}, "responses": {}}
    (got,) = asked(folder, document({"/x": {"post": one}}), ("send", arguments))
    assert isinstance(got, dict), got
    return dict(got["headers"])["content-type"], base64.b64decode(got["body"]).decode("latin-1")


OBJECT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string"},
        "b": {"type": "array", "items": {"type": "integer"}},
        "c": {"type": "object"},
        "f": {"type": "string", "format": "binary"},
    },
}


@pytest.mark.parametrize(
    ("media_type", "arguments", "body"),
    [
        ("application/json", {"a": "é", "b": [1], "c": {"d": None}}, '{"a":"é","b":[1],"c":{"d":null}}'),
        ("application/merge-patch+json", {"a": "x"}, '{"a":"x"}'),
        ("application/x-www-form-urlencoded", {"a": "x &=+é", "b": [1, 2], "c": {"d": 1}},
         "a=x+%26%3D%2B%C3%A9&b=1&b=2&c=%7B%22d%22%3A1%7D"),
    ],
)  # fmt: skip
def test_a_body_with_fields(tmp_path: Path, media_type: str, arguments: Any, body: str) -> None:
    schema = {**OBJECT, "properties": {name: one for name, one in OBJECT["properties"].items() if name != "f"}}

    got = body_of(tmp_path, media_type, schema, arguments)

    assert got == (media_type, body.encode().decode("latin-1"))


def test_the_styles_of_a_form_are_those_of_its_encoding(tmp_path: Path) -> None:
    encoding = {"b": {"style": "form", "explode": False}, "c": {"style": "deepObject", "explode": True}}

    _, body = body_of(tmp_path, "application/x-www-form-urlencoded", OBJECT, {"b": [1, 2], "c": {"d": 1}}, encoding)

    assert body == "b=1,2&c%5Bd%5D=1"


def test_parts_with_files(tmp_path: Path) -> None:
    arguments = {"a": "é", "b": [1, 2], "c": {"d": 1}, "f": FILE}

    kind, body = body_of(tmp_path, "multipart/form-data", OBJECT, arguments, {"f": {"contentType": "image/png"}})

    boundary = kind.removeprefix("multipart/form-data; boundary=")
    parts = [
        'name="a"\r\n\r\n\xc3\xa9',
        'name="b"\r\n\r\n1',
        'name="b"\r\n\r\n2',
        'name="c"\r\nContent-Type: application/json\r\n\r\n{"d":1}',
        'name="f"; filename="f"\r\nContent-Type: image/png\r\n\r\n\x00\xff\r\n',
    ]
    wanted = "".join(f"--{boundary}\r\nContent-Disposition: form-data; {part}\r\n" for part in parts)
    assert body == f"{wanted}--{boundary}--\r\n"
    assert (kind, body) == body_of(
        tmp_path, "multipart/form-data", OBJECT, arguments, {"f": {"contentType": "image/png"}}
    )


@pytest.mark.parametrize(
    ("media_type", "argument", "body"),
    [("text/plain", "é", "\xc3\xa9"), ("application/xml", "<a/>", "<a/>"), ("image/png", FILE, "\x00\xff\r\n")],
)
def test_a_body_that_is_one_text_or_file(tmp_path: Path, media_type: str, argument: str, body: str) -> None:
    assert body_of(tmp_path, media_type, {"type": "string"}, {"body": argument}) == (media_type, body)


def test_what_cannot_be_sent_is_refused_before_it_is(tmp_path: Path) -> None:
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                  {"name": "X-H", "in": "header", "schema": {"type": "string"}}]  # fmt: skip
    one = {"operationId": "send", "parameters": parameters, "requestBody": {"content": {"image/png": {}}}}

    faults = asked(tmp_path, document({"/x/{id}/y": {"post": one}}),
                   *[("send", {"id": id_}) for id_ in ("..", ".", "")],
                   ("send", {"id": "a", "X-H": "a\r\nEvil: b"}), ("send", {"id": "a", "body": "%%"}),
                   ("send", {"X-H": "a"}))  # fmt: skip

    assert [(type(fault), fault.code) for fault in faults] == [(Fault, Code.INVALID_INPUT)] * 6


def test_null_is_sent_in_a_body_that_takes_it_and_left_out_elsewhere(tmp_path: Path) -> None:
    body = {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string"}}}
    one = operation([{"name": "q", "in": "query", "schema": {"type": "string"}}], body=body, operationId="send")

    (got,) = asked(tmp_path, document({"/x": {"post": one}}), ("send", {"a": None, "b": None, "q": None}))

    assert (got["target"], base64.b64decode(got["body"])) == ("/x", b'{"a":null}')


def test_arguments_that_break_the_contract_never_reach_the_service(tmp_path: Path) -> None:
    one = operation([{"name": "n", "in": "query", "schema": {"type": "integer", "maximum": 9}}], operationId="send")

    with echo() as service:
        toolset = made(tmp_path, document({"/x": {"get": one}}), base_url=service.url)
        (outcome,) = call_all(toolset, [("send", {"n": 10})])
        assert service.requests() == ()

    assert outcome.fault is not None
    assert outcome.fault.code is Code.INVALID_INPUT


SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "oauth": {"type": "oauth2", "flows": {}},
    "in_header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "in_query": {"type": "apiKey", "in": "query", "name": "k[ey]"},
    "in_cookie": {"type": "apiKey", "in": "cookie", "name": "session"},
}


@pytest.mark.parametrize(
    ("scheme", "environ", "carried"),
    [
        ("bearer", {"TEST_TOKEN": "s3cret-token"}, "Bearer s3cret-token"),
        ("oauth", {"TEST_TOKEN": "s3cret-token"}, "Bearer s3cret-token"),
        ("basic", {"TEST_USERNAME": "me", "TEST_PASSWORD": "pass:word"}, "Basic bWU6cGFzczp3b3Jk"),
        ("in_header", {"TEST_API_KEY": "k1"}, "k1"),
        ("in_query", {"TEST_API_KEY": "k&1"}, "/x?a=b&k%5Bey%5D=k%261"),
        ("in_cookie", {"TEST_API_KEY": "k;1"}, "c=d; session=k%3B1"),
    ],
)
def test_secrets_come_from_the_environment_and_reach_the_service(
    tmp_path: Path, scheme: str, environ: dict[str, str], carried: str
) -> None:
    parameters = [{"name": "a", "in": "query", "schema": {}}, {"name": "c", "in": "cookie", "schema": {}}]
    value = document({"/x": {"get": operation(parameters, operationId="send", security=[{scheme: []}])}},
                     components={"securitySchemes": {scheme: SCHEMES[scheme]}})  # fmt: skip

    with echo() as service:
        toolset = made(tmp_path, value, base_url=service.url)
        call_all(toolset, [("send", {"a": "b", "c": "d"})], **environ)
        call_all(toolset, [("send", {"a": "b", "c": "d"})])
        with_secret, without = service.received

    seen = lambda one: [one.target, *dict(one.headers).values()]  # noqa: E731 - two lists are compared
    assert carried in seen(with_secret)
    assert carried not in seen(without)


def test_several_keys_have_variables_of_their_own(tmp_path: Path) -> None:
    schemes = {"apiKeyAuth": SCHEMES["in_header"], "app-key": {"type": "apiKey", "in": "header", "name": "X-App"}}
    value = document({"/x": {"get": operation(operationId="send", security=[{"apiKeyAuth": [], "app-key": []}])}},
                     components={"securitySchemes": schemes})  # fmt: skip

    assert list(made(tmp_path, value).settings.__struct_fields__) == [
        "base_url",
        "apikeyauth_api_key",
        "app_key_api_key",
    ]


@pytest.mark.parametrize(
    ("status", "kind", "body", "code", "message"),
    [
        (401, "application/json", b'{"message": "who?"}', Code.UNAUTHORIZED,
         "svc answered 401 Unauthorized: who? (set T)"),
        (403, "", b"", Code.UNAUTHORIZED, "svc answered 403 Forbidden"),
        (404, "application/problem+json", b'{"title": "Gone", "detail": "No pet 7"}', Code.NOT_FOUND,
         "svc answered 404 Not Found: Gone: No pet 7"),
        (422, "application/json", b'{"errors": [{"message": "bad"}]}', Code.INVALID_INPUT,
         "svc answered 422 Unprocessable Entity: bad"),
        (429, "text/plain", b"slow\ndown\x1b", Code.INVALID_INPUT, "svc answered 429 Too Many Requests: slow down"),
        (500, "text/html; charset=iso-8859-1", b"\xe9", Code.INTERNAL_ERROR,
         "svc answered 500 Internal Server Error: \xe9"),
        (599, "application/json", b"{", Code.INTERNAL_ERROR, "svc answered 599: {"),
        (302, "", b"", Code.INTERNAL_ERROR, "svc answered 302 Found"),
    ],
)  # fmt: skip
def test_an_error_is_a_fault_with_what_the_service_said(
    status: int, kind: str, body: bytes, code: Code, message: str
) -> None:
    with pytest.raises(Fault) as caught:
        result_of(PLAN, UpstreamResponse(status, kind, body), "svc", "set T")

    fault = caught.value
    assert (fault.code, fault.message, fault.as_tool_result, fault.data) == (code, message, True, {"status": status})


@pytest.mark.parametrize(
    ("kind", "body", "is_wrapped", "result"),
    [
        ("application/json", b'{"a": 1}', False, {"a": 1}),
        ("application/json", b'{"a": 1}', True, {"result": {"a": 1}}),
        ("application/vnd.x+json; charset=utf-8", b"[1]", True, {"result": [1]}),
        ("application/json", b"[1]", False, {"result": [1]}),
        ("application/json", b"not json", False, {"result": "not json"}),
        ("", b'{"a": 1}', False, {"a": 1}),
        ("text/csv", b"a,b", False, {"result": "a,b"}),
        ("image/png", b"\x00\xff", False, {"result": "AP8=", "contentType": "image/png", "encoding": "base64"}),
        ("application/json", b"", False, {"status": 200}),
    ],
)
def test_a_response_is_an_object(kind: str, body: bytes, is_wrapped: bool, result: Any) -> None:
    import msgspec

    plan = msgspec.structs.replace(PLAN, is_wrapped=is_wrapped)

    assert result_of(plan, UpstreamResponse(200, kind, body), "svc") == result


@pytest.mark.parametrize(
    "response", [UpstreamResponse(200, "", b"a", cut=True), UpstreamResponse(200, "", b"", broken="so")]
)
def test_a_response_that_is_too_long_or_broken_is_a_fault(response: UpstreamResponse) -> None:
    with pytest.raises(Fault, match=f"{MAX_BODY_BYTES:,} bytes|cannot be used: so"):
        result_of(PLAN, response, "svc")


def test_the_address_is_the_first_server_with_its_variables_and_the_setting_comes_first(tmp_path: Path) -> None:
    with echo() as service:
        port = service.url.rpartition(":")[2]
        servers = [
            {
                "url": "http://127.0.0.1:{port}/{base}",
                "variables": {"port": {"default": port}, "base": {"default": "v2"}},
            }
        ]
        own = {"operationId": "own", "servers": [{"url": f"{service.url}/own/"}]}
        value = document({"/x": {"get": operation(operationId="send"), "put": own}}, servers=servers)
        toolset = made(tmp_path, value)
        call_all(toolset, [("send", {}), ("own", {})])
        call_all(toolset, [("send", {}), ("own", {})], TEST_BASE_URL=f"{service.url}/set")

        assert service.targets() == ["/v2/x", "/own/x", "/set/x", "/set/x"]


def test_a_file_with_a_relative_server_says_what_to_set(tmp_path: Path) -> None:
    toolset = made(tmp_path, document({"/x": {"get": operation(operationId="send")}}, servers=[{"url": "/v1"}]))

    (outcome,) = call_all(toolset, [("send", {})])

    assert outcome.fault is not None
    assert "TEST_BASE_URL" in outcome.fault.message


def test_an_address_that_cannot_be_used_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="write the right one with --base-url"):
        made(tmp_path, document({"/x": {"get": operation()}}, servers=[{"url": "https://{host}/"}]))
    with pytest.raises(DocumentError, match="does not start with http:// or https://"):
        made(tmp_path, document({"/x": {"get": operation()}}), base_url="ftp://a.example")


def test_a_plan_is_made_once_and_again_when_anything_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from signet.openapi import toolset as module

    made_for: list[Any] = []
    real = module.plan_document
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "plan_document", lambda *given: made_for.append(given[2]) or real(*given))
    other = tmp_path / "other.json"
    other.write_text('{"type": "string"}')
    value = document({"/x": {"post": operation(body={"$ref": "other.json"}, tags=["t"])}})

    first = made(tmp_path, value).bundles()
    again = made(tmp_path, value).bundles()
    chosen = made(tmp_path, value, "tag:t").bundles()
    other.write_text('{"type": "integer"}')
    changed = made(tmp_path, value).bundles()
    for path in (tmp_path / "cache").rglob("*.json"):
        path.write_text("{}")
    broken = made(tmp_path, value).bundles()

    assert first == again == chosen != changed == broken
    assert len(made_for) == 4
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "cache").rglob("*.json")} == {0o600}
    assert json.loads(next(iter(changed.values())))["input"]["$defs"] == {"other": {"type": "integer"}}
