"""What the reference server says: its tools, prompts, resources and questions, by the conformance suite's names."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types

from conformance_toolset.tools import AUDIO, IMAGE

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
STATIC_TEXT = "test://static-text"
STATIC_BINARY = "test://static-binary"
WATCHED = "test://watched-resource"
TEMPLATE_HEAD, TEMPLATE_TAIL = "test://template/", "/data"

RICH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
    "required": ["region"],
}


def text(words: str) -> types.TextContent:
    """Return one block of text."""
    return types.TextContent(type="text", text=words)


def embedded(uri: str, mime_type: str, words: str) -> types.EmbeddedResource:
    """Return one block that holds a resource."""
    held = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=held)


IMAGE_BLOCK = types.ImageContent(type="image", data=IMAGE["data"], mime_type=IMAGE["mimeType"])
AUDIO_BLOCK = types.AudioContent(type="audio", data=AUDIO["data"], mime_type=AUDIO["mimeType"])

CONTENT: dict[str, list[Any]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE_BLOCK],
    "test_audio_content": [AUDIO_BLOCK],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE_BLOCK,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [text("ok")],
    "test_x_mcp_header": [text("ok")],
}
"""The tools that always answer the same, and their content."""


def form(message: str, properties: dict[str, Any], required: list[str] | None = None) -> types.ElicitRequest:
    """Return a question that the user answers in a form."""
    schema = {"type": "object", "properties": properties, "required": required or list(properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str, max_tokens: int) -> types.CreateMessageRequest:
    """Return a question that the client's model answers."""
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


NAME = form("What is your name?", {"name": {"type": "string"}})
ROOTS = types.ListRootsRequest(params=types.RequestParams())
DEFAULTS = form(
    "Please review the defaults",
    {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
)


def _titled(word: str) -> list[dict[str, str]]:
    return [
        {"const": f"value{n}", "title": f"{place} {word}"} for n, place in enumerate(("First", "Second", "Third"), 1)
    ]


_OPTIONS = ["option1", "option2", "option3"]
ENUMS = form(
    "Please choose",
    {
        "untitledSingle": {"type": "string", "enum": _OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
    },
)

QUESTIONS: dict[str, dict[str, Any]] = {
    "test_elicitation_sep1034_defaults": {"answer": DEFAULTS},
    "test_elicitation_sep1330_enums": {"answer": ENUMS},
    "test_streaming_elicitation": {"user_name": NAME},
    "test_input_required_result_elicitation": {"user_name": NAME},
    "test_input_required_result_sampling": {"capital_question": sampling("What is the capital of France?", 100)},
    "test_input_required_result_list_roots": {"client_roots": ROOTS},
    "test_input_required_result_request_state": {"confirm": form("Please confirm", {"ok": {"type": "boolean"}})},
    "test_input_required_result_tampered_state": {"confirm": form("Please confirm", {"ok": {"type": "boolean"}})},
    "test_input_required_result_multiple_inputs": {
        "user_name": NAME,
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": ROOTS,
    },
}
"""The tools that ask once, and what they ask."""

STEPS: list[dict[str, Any]] = [
    {"step1": form("Step 1: What is your name?", {"name": {"type": "string"}})},
    {"step2": form("Step 2: What is your favorite color?", {"color": {"type": "string"}})},
]
"""What the tool of two rounds asks."""

PROMPTS = [
    types.Prompt(name="test_simple_prompt", description="A prompt without arguments"),
    types.Prompt(
        name="test_prompt_with_arguments",
        description="A prompt with two arguments",
        arguments=[
            types.PromptArgument(name="arg1", description="First test argument", required=True),
            types.PromptArgument(name="arg2", description="Second test argument", required=True),
        ],
    ),
    types.Prompt(
        name="test_prompt_with_embedded_resource",
        description="A prompt that embeds a resource",
        arguments=[types.PromptArgument(name="resourceUri", description="URI of the resource", required=True)],
    ),
    types.Prompt(name="test_prompt_with_image", description="A prompt with a picture"),
    types.Prompt(name="test_input_required_result_prompt", description="A prompt that asks for its context"),
]

RESOURCES = [
    types.Resource(uri=STATIC_TEXT, name="static-text", description="A text", mime_type="text/plain"),
    types.Resource(uri=STATIC_BINARY, name="static-binary", description="A picture", mime_type="image/png"),
    types.Resource(uri=WATCHED, name="watched", description="A text that changes", mime_type="text/plain"),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="A text by its id",
        mime_type="application/json",
    )
]


def prompt_messages(name: str, given: dict[str, str]) -> list[types.PromptMessage] | None:
    """Return the messages of a prompt that asks nothing; None for a name that is not known."""
    blocks: dict[str, list[Any]] = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [IMAGE_BLOCK, text("Please analyze the image above.")],
    }
    if name not in blocks:
        return None
    return [types.PromptMessage(role="user", content=block) for block in blocks[name]]


def resource_contents(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    """Return what a resource holds; None for an address that is not known."""
    if uri == STATIC_BINARY:
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE["data"])
    texts = {STATIC_TEXT: "This is the content of the static text resource.", WATCHED: "Watched."}
    if uri in texts:
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=texts[uri])
    if uri.startswith(TEMPLATE_HEAD) and uri.endswith(TEMPLATE_TAIL):
        key = uri.removeprefix(TEMPLATE_HEAD).removesuffix(TEMPLATE_TAIL)
        body = {"id": key, "templateTest": True, "data": f"Data for ID: {key}"}
        return types.TextResourceContents(
            uri=uri, mime_type="application/json", text=json.dumps(body, separators=(",", ":"))
        )
    return None
