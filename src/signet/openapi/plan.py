"""A plan: everything about a document's tools that a start needs, as values that can be kept in a file. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["BodyPlan", "DocumentPlan", "FieldPlan", "OperationPlan", "ParameterPlan", "SchemePlan", "ServerPlan"]

Place = Literal["path", "query", "header", "cookie"]
Style = Literal["matrix", "label", "simple", "form", "spaceDelimited", "pipeDelimited", "deepObject"]
BodyKind = Literal["json", "form", "multipart", "text", "binary"]


class ParameterPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """One parameter of a request."""

    argument: str
    """The name of the argument that holds its value."""
    name: str
    place: Place
    style: Style
    explode: bool
    is_reserved: bool = False
    """Whether reserved characters are sent as they are."""
    is_json: bool = False
    """Whether the value is sent as JSON, whatever the style."""


class FieldPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field of a body that has fields."""

    argument: str
    name: str
    is_file: bool = False
    """Whether the argument is base64 of what is sent."""
    content_type: str = ""
    style: Style | Literal[""] = ""
    """How a list or an object is written in a form; empty for JSON."""
    explode: bool = True
    is_reserved: bool = False


class BodyPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of a request."""

    kind: BodyKind
    media_type: str
    whole: str = ""
    """The argument that is the whole body; empty where the fields are arguments of their own."""
    fields: tuple[FieldPlan, ...] = ()
    is_required: bool = False


class ServerPlan(msgspec.Struct, frozen=True):
    """An address, as the document states it."""

    url: str
    """With its variables filled in; it may be relative to the document."""
    base: str
    """The location of the document."""


class SchemePlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a caller of the service proves who it is."""

    kind: Literal["bearer", "basic", "apiKey"]
    settings: tuple[str, ...]
    """The settings with its secrets: one, or a name and a password."""
    place: Place = "header"
    name: str = "Authorization"


class OperationPlan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One operation as a tool."""

    name: str
    slug: str
    title: str
    description: str
    method: str
    path: str
    """The template, with `{name}` for each path parameter."""
    parameters: tuple[ParameterPlan, ...] = ()
    body: BodyPlan | None = None
    accept: str = "*/*"
    is_wrapped: bool = False
    """Whether a JSON response stands below `result`."""
    servers: tuple[ServerPlan, ...] = ()
    """Its own addresses, where they are not those of the document."""
    security: tuple[tuple[str, ...], ...] = ()
    """The names of the schemes; all of one of these."""
    annotations: dict[str, bool] = {}
    keeps_nulls: tuple[str, ...] = ()
    bundle: msgspec.Raw = msgspec.Raw(b"{}")
    """`{tool, input, output}`."""


class DocumentPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a document."""

    title: str
    version: str
    servers: tuple[ServerPlan, ...]
    schemes: dict[str, SchemePlan]
    operations: tuple[OperationPlan, ...]
    notes: tuple[str, ...]
    sources: dict[str, str]
    """The SHA-256 of each document that was read, by its location."""

    def setting_names(self) -> list[str]:
        """Return the names of the settings that hold secrets, in the order of the schemes."""
        return list(dict.fromkeys(name for scheme in self.schemes.values() for name in scheme.settings))
