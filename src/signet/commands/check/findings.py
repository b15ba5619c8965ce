"""Findings: the rules of real clients by name and client, and the places of a tool that break them. Pure."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

__all__ = ["ALL_MODELS", "LEAK", "RULES", "Effect", "Finding", "Findings", "Rule", "step"]

Effect = Literal["refuses", "loses", "warns", "unclear", "leaks"]
"""What a broken rule costs.

refuses: the tool is not offered to the model, or every request that lists it fails.
loses: the tool works, but a part of its name, description or schema does not reach the model.
warns: the tool works, and the client writes a warning.
unclear: the tool works, and the model guesses.
leaks: a secret reaches every client, model and log.
"""

ALL_MODELS: Final = "all models"
LEAK: Final = "secret-in-description"


def step(name: object) -> str:
    """Return a name or an index as a step of a JSON pointer."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1")


class Rule(msgspec.Struct, frozen=True):
    """What one client does with a tool that breaks one rule."""

    effect: Effect
    message: str
    """One sentence without the client's name, which stands before it; `{…}` is filled in with the case at hand."""
    limit: int | None = None


class Finding(msgspec.Struct, frozen=True):
    """A place of a tool that a client refuses, or of which it loses something."""

    tool: str
    client: str
    rule: str
    """A stable id."""
    place: str
    """A JSON pointer into the tool as MCP lists it, such as `/inputSchema/properties/x`."""
    message: str
    """What the client does, and what to write instead."""
    severity: Literal["error", "warning"] = "warning"


_ONE_OF_64: Final = "refuses the whole request for a name of {length} characters: write at most 64"
_LETTERS: Final = "refuses the whole request for this name: write letters, digits, '_' and '-' alone"
_ITEMS: Final = "an array without `items`: say in `items` what it holds"
_UNION: Final = "refuses the whole request for `{keyword}` at the root: put it into a property, or write one object"
_TOO_MANY: Final = "refuses {count} {things}: at most {limit} in one tool"

RULES: Final[dict[tuple[str, str], Rule]] = {
    ("name-characters", "MCP"): Rule("warns", "asks for letters, digits, '_', '-' and '.' alone in a name"),
    ("name-characters", "OpenAI"): Rule("refuses", _LETTERS),
    ("name-characters", "Anthropic"): Rule("refuses", _LETTERS),
    ("name-characters", "Gemini"): Rule(
        "refuses", "refuses the whole request for this name: write letters, digits, '_', '-', '.' and ':' alone"
    ),
    ("name-edge", "MCP"): Rule("warns", "asks for a name that neither begins nor ends with '-' or '.'"),
    ("name-start", "Gemini"): Rule(
        "refuses", "refuses the whole request for this name: begin it with a letter or an underscore"
    ),
    ("name-too-long", "MCP"): Rule("warns", "asks for at most 128 characters in a name, not {length}", 128),
    ("name-too-long", "OpenAI"): Rule("refuses", _ONE_OF_64, 64),
    ("name-too-long", "Anthropic"): Rule(
        "refuses", "refuses the whole request for a name of {length} characters: write at most 128", 128
    ),
    ("name-too-long", "Gemini"): Rule("refuses", _ONE_OF_64, 64),
    ("name-too-long", "Claude Code"): Rule(
        "refuses", "leaves the tool out: `mcp__server__tool` has {length} characters, at most 128 are allowed", 128
    ),
    ("name-too-long", "Cursor"): Rule(
        "refuses", "leaves the tool out: server and tool name together have {length} characters, at most 59 pass", 59
    ),
    ("name-too-long", "Gemini CLI"): Rule(
        "loses", "cuts the name: `mcp_server_tool` has {length} characters, at most 63 are shown to the model", 63
    ),
    ("name-too-long", "VS Code"): Rule(
        "loses", "cuts the name: with its prefix it has {length} characters, at most 64 are shown to the model", 64
    ),
    ("description-missing", ALL_MODELS): Rule(
        "unclear", "choose a tool by its description, and there is none: say what it does and when to use it"
    ),
    ("description-too-short", ALL_MODELS): Rule(
        "unclear", "choose a tool by its description, and this has {length} characters: say when to use it", 10
    ),
    ("description-too-long", "OpenAI"): Rule(
        "refuses", "refuses the whole request for a description of {length} characters: write at most 1024", 1024
    ),
    ("description-too-long", "Claude Code"): Rule(
        "loses", "cuts a description of {length} characters after 2048: write what matters first", 2048
    ),
    ("parameter-without-description", ALL_MODELS): Rule(
        "unclear", "guess what to send where a parameter has no description: say what it means, with an example"
    ),
    ("description-lost", "google-genai"): Rule(
        "loses", "drops a description beside {beside}: repeat it inside, or write `type` as a list with 'null'"
    ),
    ("root-not-object", "MCP TypeScript SDK"): Rule(
        "refuses", 'refuses the whole list of tools for a root without `"type": "object"`: wrap the value'
    ),
    ("top-level-union", "OpenAI"): Rule("refuses", _UNION),
    ("top-level-union", "Anthropic"): Rule("refuses", _UNION),
    ("property-name", "Anthropic"): Rule(
        "refuses",
        "refuses the whole request for this property name: write 1 to 64 letters, digits, '_', '-' and '.'",
        64,
    ),
    ("reference", "Claude Managed Agents"): Rule("refuses", "refuses `$ref`: write the schema in its place"),
    ("reference-unresolved", "google-genai"): Rule(
        "refuses", "fails on this `$ref`, it follows `#/$defs/NAME` alone: write the schema in its place"
    ),
    ("reference-recursive", "google-genai"): Rule(
        "loses",
        "replaces a `$ref` that leads to another, or back to itself, by a schema without rules: end it with a type",
    ),
    ("reference-siblings", "OpenAI strict mode"): Rule(
        "loses", "cannot be used for `{keyword}` beside `$ref`: write the schema in place of the `$ref`"
    ),
    ("keyword-lost", "google-genai"): Rule("loses", "drops `{keyword}`, and the model does not see it: {instead}"),
    ("keyword-refused", "OpenAI strict mode"): Rule("refuses", "refuses `{keyword}`: {instead}"),
    ("format-refused", "OpenAI strict mode"): Rule(
        "refuses", "refuses this `format`: leave it out and describe the form, or write one that it knows"
    ),
    ("format-refused", "Gemini"): Rule(
        "refuses", "has refused this `format`: leave it out and describe the form, or write `date-time`"
    ),
    ("open-object", "OpenAI strict mode"): Rule(
        "loses", "cannot be used for an object with properties of any name: name the properties"
    ),
    ("boolean-schema", "google-genai"): Rule("refuses", "fails on a schema that is {value}: {instead}"),
    ("boolean-schema", "OpenAI strict mode"): Rule(
        "loses", "cannot be used for a schema that is {value}: write a type"
    ),
    ("untyped-schema", "OpenAI strict mode"): Rule("refuses", "refuses a schema without a `type`: write one"),
    ("untyped-enum", "Gemini"): Rule("refuses", 'refuses an `enum` without `"type": "string"` beside it'),
    ("enum-not-string", "Gemini"): Rule("refuses", "refuses values of an `enum` that are no strings: write strings"),
    ("array-without-items", "OpenAI"): Rule("refuses", f"refuses {_ITEMS}"),
    ("array-without-items", "Gemini"): Rule("refuses", f"refuses {_ITEMS}"),
    ("array-without-items", "VS Code"): Rule("refuses", f"refuses {_ITEMS}"),
    ("array-without-items", "Windsurf"): Rule("refuses", f"refuses {_ITEMS}"),
    ("empty-object", "Gemini"): Rule(
        "refuses", "refuses an object without `properties`: name them, or take a list of names and values"
    ),
    ("required-undeclared", "Gemini"): Rule("refuses", "refuses `required` with a name that `properties` lacks"),
    ("nesting-too-deep", "OpenAI strict mode"): Rule("refuses", "refuses more than {limit} levels of objects", 10),
    ("too-many-properties", "OpenAI strict mode"): Rule("refuses", _TOO_MANY, 5000),
    ("too-many-enum-values", "OpenAI strict mode"): Rule("refuses", _TOO_MANY, 1000),
    ("enum-too-long", "OpenAI strict mode"): Rule(
        "refuses", "refuses an `enum` of more than 250 values with {count} characters: at most {limit}", 15_000
    ),
    ("schema-too-long", "OpenAI strict mode"): Rule(
        "refuses", "refuses {count} characters in names and permitted values: at most {limit} in one tool", 120_000
    ),
    (LEAK, ALL_MODELS): Rule("leaks", "would read {kind}, and so would every log: take it out and revoke it"),
}


class Findings:
    """Collects the findings on one tool."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.found: list[Finding] = []

    def add(self, rule: str, client: str, place: str, **case: object) -> None:
        """Add a finding, with the words of its rule."""
        known = RULES[rule, client]
        words = known.message.format(limit=known.limit, **case)
        severity: Literal["error", "warning"] = "error" if rule == LEAK else "warning"
        self.found.append(Finding(self.tool, client, rule, place, f"{client} {words}.", severity))

    def add_above(self, rule: str, client: str, place: str, length: int) -> None:
        """Add a finding if a length is above the limit of its rule."""
        limit = RULES[rule, client].limit
        if limit is not None and length > limit:
            self.add(rule, client, place, length=length)
