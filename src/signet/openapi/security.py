"""Security schemes as settings: what each wants to be told from outside, and what it adds to a request. Pure.

bearer, oauth2, openIdConnect ── <NAME>_TOKEN
apiKey ── <NAME>_API_KEY, or <NAME>_<SCHEME>_API_KEY where there are several
basic ── <NAME>_USERNAME and <NAME>_PASSWORD
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Annotated, Any, Final

import msgspec

from signet.settings.fields import setting

from .document import Library, RefusedReferenceError
from .failure import Notes, shown
from .inputs import HEADER
from .plan import DocumentPlan, SchemePlan
from .references import Node, resolve

__all__ = ["Credentials", "credentials", "plan_schemes", "plan_security", "settings_struct"]

ALIEN: Final = re.compile(r"[^A-Za-z0-9]+")
FRAMING: Final = frozenset(("host", "content-length", "transfer-encoding", "connection", "content-type", "cookie"))
PLACES: Final = ("header", "query", "cookie")
UNSTATED: Final = "unstated"
"""The name of the scheme of a document that states none: a token is sent if there is one."""
TEXTS: Final = {
    "token": "bearer token that the service is sent",
    "username": "user name that the service is sent",
    "password": "password that the service is sent",
}


class Credentials(msgspec.Struct, frozen=True):
    """What a request carries so that the service knows its caller; nobody else may read it."""

    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    secrets: tuple[str, ...] = ()


def plan_schemes(library: Library, root: Node, notes: Notes) -> dict[str, SchemePlan]:
    """Return the schemes of a document that can be used, by their names."""
    given = root.at("components").at("securitySchemes")
    stated: dict[str, dict[str, Any]] = {}
    for name in given.value if isinstance(given.value, dict) else ():
        try:
            scheme = resolve(library, given.at(name)).value
        except RefusedReferenceError as error:
            notes.add(f"the security scheme {shown(name)} is not used: {error}")
            continue
        if isinstance(scheme, dict):
            stated[name] = scheme
    if not stated:
        return {UNSTATED: SchemePlan("bearer", ("token",))}
    keys = {(str(one.get("in")), str(one.get("name"))) for one in stated.values() if one.get("type") == "apiKey"}
    found = {name: _scheme(name, one, is_only=len(keys) == 1) for name, one in stated.items()}
    for name in [name for name, one in found.items() if one is None]:
        notes.add(f"the security scheme {shown(name)} is not used: Signet knows no {shown(stated[name].get('type'))}")
    return {name: one for name, one in found.items() if one is not None}


def _scheme(name: str, scheme: dict[str, Any], *, is_only: bool) -> SchemePlan | None:
    kind, how = str(scheme.get("type")), str(scheme.get("scheme", "")).lower()
    if kind in {"oauth2", "openIdConnect"} or (kind == "http" and how == "bearer"):
        return SchemePlan("bearer", ("token",))
    if kind == "http" and how == "basic":
        return SchemePlan("basic", ("username", "password"))
    place, key = scheme.get("in"), scheme.get("name")
    if kind != "apiKey" or place not in PLACES or not isinstance(key, str):
        return None
    if place != "query" and (not HEADER.fullmatch(key) or (place == "header" and key.lower() in FRAMING)):
        return None
    word = ALIEN.sub("_", name).strip("_").lower()
    return SchemePlan("apiKey", ("api_key" if is_only or not word else f"{word}_api_key",), place, key)


def plan_security(own: Node, general: Node, schemes: dict[str, SchemePlan]) -> tuple[tuple[str, ...], ...]:
    """Return the names of the schemes of an operation; where the document asks for none, each that is set is used."""
    stated = own.value if isinstance(own.value, list) else general.value
    if not isinstance(stated, list):
        return tuple([(name,) for name in schemes])
    wanted = [tuple(one) for one in stated if isinstance(one, dict)]
    return tuple([one for one in wanted if schemes.keys() >= set(one)])


def settings_struct(plan: DocumentPlan, name: str) -> type[Any]:
    """Return the settings of a toolset: the address of its service, and the secrets of its schemes."""
    address = setting("address of the service, in place of the document's own", metavar="URL")
    fields: list[Any] = [("base_url", Annotated[str | None, address], None)]
    for one in plan.setting_names():
        text = TEXTS.get(one, "API key that the service is sent")
        fields.append((one, Annotated[str | None, setting(text, secret=True, in_header=True)], None))
    return msgspec.defstruct(f"{name.title().replace('-', '')}Settings", fields, frozen=True, kw_only=True)


def credentials(plan: DocumentPlan, security: tuple[tuple[str, ...], ...], settings: Any) -> Credentials:
    """Return what a request carries: the first choice of schemes for which all secrets are set, or nothing."""
    for names in security:
        schemes = [plan.schemes[name] for name in names]
        values = [[getattr(settings, one, None) or "" for one in scheme.settings] for scheme in schemes]
        if schemes and all(any(one) for one in values):
            return _carried(list(zip(schemes, values, strict=True)))
    return Credentials()


def _carried(pairs: list[tuple[SchemePlan, list[str]]]) -> Credentials:
    places: dict[str, list[tuple[str, str]]] = {"header": [], "cookie": [], "query": []}
    secrets: list[str] = []
    for scheme, values in pairs:
        text = values[0]
        if scheme.kind == "basic":
            encoded = b64encode(":".join(values).encode()).decode()
            secrets.append(encoded)
            text = f"Basic {encoded}"
        elif scheme.kind == "bearer":
            text = f"Bearer {text}"
        places[scheme.place].append((scheme.name, text))
        secrets += values[-1:]
    return Credentials(tuple(places["header"]), tuple(places["cookie"]), tuple(places["query"]), tuple(secrets))
