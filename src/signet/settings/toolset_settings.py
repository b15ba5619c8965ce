"""The settings of one toolset as a value: made from what is given, or what is missing for it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from signet.system.redaction import REDACTED, SecretRedactor
from signet.system.secret_values import hide_secrets, plain, secrets_inside, texts_of

from .fields import Setting, load, settings_of

__all__ = ["IncompleteSettings", "build_settings", "change_settings", "recordable", "secret_texts"]


class IncompleteSettings(msgspec.Struct, frozen=True):
    """What is given for a settings struct that cannot be made from it, until others are given too."""

    given: dict[str, Any]
    missing: tuple[Setting, ...]
    """The fields that have neither a value nor a default."""
    secrets: tuple[str, ...] = ()
    """The texts of the secret ones among them."""
    why: str = ""
    """What the struct's own check said, where no field is missing."""

    def told(self, toolset: str, variable_of: Callable[[str], str]) -> str:
        """Return a sentence that names the variables to set, with what they are for."""
        if not self.missing:
            return f"the settings of the {toolset} toolset cannot be used: {self.why}"
        texts = [(variable_of(field.name), field.help) for field in self.missing]
        names = " and ".join(f"{name} ({text})" if text else name for name, text in texts)
        return f"the {toolset} toolset needs a setting that has no value: set {names}"


def build_settings(struct: type[Any], given: Mapping[str, Any]) -> Any:
    """Return the struct, or an `IncompleteSettings` if a field has no value, or the struct's own check refuses one."""
    if not struct.__struct_fields__:
        return struct()
    # A secret that is blank counts as not given.
    given = {name: value for name, value in given.items() if value is not None}
    try:
        return struct(**given)
    except (TypeError, ValueError) as error:
        fields = settings_of(struct)
        missing = tuple([field for field in fields if field.is_required and field.name not in given])
        secrets = tuple([text for field in fields for text in _secrets_of(field, given.get(field.name))])
        return IncompleteSettings(given, missing, secrets, SecretRedactor(secrets).text(str(error)))


def change_settings(struct: type[Any], own: Any, changes: Mapping[str, Any]) -> Any:
    """Return settings of which some have changed, for a replay or a sandbox; names that it has not are left out.

    A secret that is not set has a text in its place: nothing is sent that would need it.

    Raises:
        ValueError: a value is not of its setting's type.
    """
    types = {field.name: field.type for field in settings_of(struct)}
    loaded = {name: load(value, types[name]) for name, value in changes.items() if name in types}
    if isinstance(own, IncompleteSettings):
        secrets = {field.name: REDACTED for field in own.missing if field.secret}
        return build_settings(struct, {**secrets, **own.given, **loaded})
    return msgspec.structs.replace(own, **loaded)


def secret_texts(own: Any) -> Iterator[str]:
    """Yield the texts of the secret settings of a toolset, and of the secrets inside the others."""
    if isinstance(own, IncompleteSettings):
        yield from own.secrets
        return
    for field in settings_of(type(own)):
        yield from _secrets_of(field, getattr(own, field.name))


def _secrets_of(field: Setting, value: Any) -> Iterator[str]:
    return texts_of(value) if field.secret else secrets_inside(plain(value))


def recordable(own: Any, names: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of some settings by their flat names, as JSON has them and without the secrets inside.

    A value that is none of its type without them is left out, as a secret is; of what is incomplete there are none.
    """
    if isinstance(own, IncompleteSettings):
        return {}
    types = {field.name: field.type for field in settings_of(type(own))}
    kept = {}
    for name, flat in names:
        value = plain(getattr(own, name))
        hidden = hide_secrets(value)
        if hidden == value or _is_valid(hidden, types[name]):
            kept[flat] = hidden
    return kept


def _is_valid(value: Any, hint: Any) -> bool:
    try:
        load(value, hint)
    except ValueError:
        return False
    return True
