"""The settings of a toolset of a user's own: from the environment into `context.settings`, refused in a sentence."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

import signet
from own_toolsets import call, declared
from processes import run
from signet.authoring.declaration import ToolsetDeclaration
from signet.authoring.toolset import DeclarationError, build_toolset
from signet.settings.model import Settings, secret_texts
from signet.settings.usage import UsageError


@pytest.fixture(autouse=True)
def _no_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the secrets of the services that other tests of this process declared."""
    monkeypatch.setattr("signet.authoring.services._secrets", set())


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Place(msgspec.Struct):
    city: str
    lat: float = 0.0


class WeatherSettings(msgspec.Struct, rename="camel"):
    """Neither frozen nor of keywords only, and with defaults that are made anew."""

    api_key: Annotated[str, signet.setting("key of the API", secret=True)]
    days: int = 3
    least: Annotated[int, msgspec.Meta(ge=-5, le=5), signet.setting("the least")] = 0
    rate: float = 0.5
    is_metric: bool = True
    cities: list[str] = []
    counts: tuple[int, ...] = ()
    level: Level = Level.LOW
    mode: Literal["fast", "slow"] = "fast"
    since: dt.date | None = None
    folder: Path = Path()
    place: Place | None = None
    limits: dict[str, int] = msgspec.field(default_factory=dict)


def show(context: signet.Context) -> dict[str, Any]:
    """Show the settings."""
    return {name: repr(getattr(context.settings, name)) for name in context.settings.__struct_fields__}


def shown(environ: dict[str, str], **flags: Any) -> dict[str, str]:
    with declared(show, settings=WeatherSettings) as toolset:
        return dict(call(toolset, ("show", {}), environ=environ, **flags).result)


def refused(environ: dict[str, str], settings: type[Any] = WeatherSettings) -> str:
    with declared(show, settings=settings) as toolset, pytest.raises(UsageError) as caught:
        call(toolset, ("show", {}), environ=environ)
    return str(caught.value)


@pytest.mark.parametrize("variable", ["WEATHER_API_KEY", "SIGNET_WEATHER_API_KEY"])
def test_a_setting_is_read_from_the_environment(variable: str) -> None:
    assert shown({variable: "key-of-the-user"})["api_key"] == "'key-of-the-user'"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("days", "7", "7"),
        ("days", "-7", "-7"),
        ("least", "-5", "-5"),
        ("rate", "2.5", "2.5"),
        ("is_metric", "off", "False"),
        ("cities", "Bern, Rom", "['Bern', 'Rom']"),
        ("cities", '["a, b"]', "['a, b']"),
        ("counts", "1,2", "(1, 2)"),
        ("level", "high", "<Level.HIGH: 'high'>"),
        ("mode", "slow", "'slow'"),
        ("since", "2026-01-31", "datetime.date(2026, 1, 31)"),
        ("folder", "/data", f"{Path('/data')!r}"),
        ("place", '{"city": "Bern"}', "Place(city='Bern', lat=0.0)"),
        ("limits", '{"a": 1}', "{'a': 1}"),
    ],
)
def test_the_text_of_a_variable_becomes_a_value_of_its_type(name: str, text: str, value: str) -> None:
    found = shown({"WEATHER_API_KEY": "key-of-the-user", f"WEATHER_{name.upper()}": text})

    assert found[name] == value


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("days", "many", "'many' cannot be used; write a whole number"),
        ("days", "1.5", "'1.5' cannot be used; write a whole number"),
        ("least", "-6", "'-6' cannot be used; write a whole number from -5 to 5"),
        ("rate", "fast", "'fast' cannot be used; write a number"),
        ("is_metric", "maybe", "'maybe' cannot be used; write true or false"),
        ("counts", "1,b", "'1,b' cannot be used; write values with commas between them"),
        ("cities", "[1", "'[1' cannot be used; write values with commas between them"),
        ("level", "none", "'none' cannot be used; write low or high"),
        ("mode", "none", "'none' cannot be used; write fast or slow"),
        ("since", "today", "'today' cannot be used; write a date such as 2026-01-31"),
        ("place", "Bern", "'Bern' cannot be used; write a JSON object"),
        ("place", '{"lat": 1}', "'{\"lat\": 1}' cannot be used; write a JSON object"),
        ("limits", "[]", "'[]' cannot be used; write a JSON object"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_its_variable(name: str, text: str, words: str) -> None:
    environ = {"WEATHER_API_KEY": "key-of-the-user", f"WEATHER_{name.upper()}": text}

    assert refused(environ) == f"WEATHER_{name.upper()}: {words}"


def test_a_secret_that_cannot_be_used_is_not_repeated() -> None:
    class Own(msgspec.Struct):
        pin: Annotated[int, signet.setting("the pin", secret=True)] = 0

    assert refused({"WEATHER_PIN": "12-34-secret"}, Own) == "WEATHER_PIN: this cannot be used; write a whole number"


@pytest.mark.parametrize("environ", [{}, {"WEATHER_DAYS": "1"}, {"WEATHER_API_KEY": " "}])
def test_a_setting_that_is_missing_is_named(environ: dict[str, str]) -> None:
    sentence = "the weather toolset needs a setting that has no value: set WEATHER_API_KEY (key of the API)"

    assert refused(environ) == sentence


def test_all_settings_that_are_missing_are_named() -> None:
    class Own(msgspec.Struct, kw_only=True):
        one: str
        two: int = 2
        three: int

    assert refused({}, Own).endswith("set WEATHER_ONE and WEATHER_THREE")


def test_nothing_is_missing_for_a_toolset_that_is_not_served() -> None:
    with declared(show, settings=WeatherSettings):
        settings = Settings.read({"WEATHER_DAYS": "1"}, {"toolsets": "plantuml"})

        assert [toolset.name for toolset, _ in settings.enabled()] == ["plantuml"]
        assert "weather_days" not in settings.recorded()
        assert settings.secrets() == ()


def test_what_the_struct_itself_refuses_is_told_without_secrets() -> None:
    class Own(msgspec.Struct):
        api_key: str = ""

        def __post_init__(self) -> None:
            if self.api_key:
                raise ValueError(f"{self.api_key} is no key: it must begin with k-")

    sentence = "the settings of the weather toolset cannot be used: [redacted] is no key: it must begin with k-"

    assert refused({"WEATHER_API_KEY": "key-of-the-user"}, Own) == sentence


def test_a_text_with_the_name_of_a_secret_is_one() -> None:
    class Own(msgspec.Struct):
        api_key: str = "default-of-the-author"
        max_tokens: int = 5
        words: Annotated[list[str], signet.setting("what nobody may read", secret=True)] = []
        city: str = "Bern"

    with declared(show, settings=Own):
        assert Settings.read({}, {}).secrets() == ("default-of-the-author",)
        settings = Settings.read({"WEATHER_WORDS": "one-word,two-words", "WEATHER_CITY": "Rom"}, {})

        assert set(settings.secrets()) == {"default-of-the-author", "one-word", "two-words"}
        recorded = {name: value for name, value in settings.recorded().items() if name.startswith("weather")}
        assert recorded == {"weather_max_tokens": 5, "weather_city": "Rom"}


@dataclass
class Account:
    user: str
    password: str


class Key:
    """A secret of the author's own, which shows nothing."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Hidden(msgspec.Struct):
    """Secrets of every kind: none of them is a text."""

    key: Annotated[bytes | None, signet.setting("k", secret=True)] = None
    account: Annotated[Account | None, signet.setting("k", secret=True)] = None
    word: Annotated[pydantic.SecretStr | None, signet.setting("k", secret=True)] = None
    own: Annotated[Key | None, signet.setting("k", secret=True)] = None
    pin: Annotated[float | None, signet.setting("k", secret=True)] = None
    folder: Annotated[Path | None, signet.setting("k", secret=True)] = None
    level: Annotated[Level | None, signet.setting("k", secret=True)] = None


@pytest.mark.parametrize(
    ("name", "text", "secrets"),
    [
        ("key", "Y2FuYXJ5LWJ5dGVz", {"canary-bytes", "Y2FuYXJ5LWJ5dGVz"}),
        ("account", '{"user": "me", "password": "canary-field"}', {"me", "canary-field"}),
        ("word", "canary-word", {"canary-word"}),
        ("own", "canary-own", {"canary-own"}),
        ("pin", "1234.5", {"1234.5"}),
        ("folder", "/canary/folder", {str(Path("/canary/folder"))}),
        ("level", "high", {"high"}),
    ],
)
def test_a_secret_of_any_type_is_known_by_its_text(name: str, text: str, secrets: set[str]) -> None:
    with declared(show, settings=Hidden):
        assert set(Settings.read({f"WEATHER_{name.upper()}": text}, {}).secrets()) == secrets


def test_a_secret_that_leads_back_to_itself_is_read_once() -> None:
    class Own(msgspec.Struct):
        token: Annotated[Any, signet.setting("k", secret=True)] = None

    ring: list[Any] = ["canary-ring"]
    ring.append(ring)

    assert list(secret_texts(Own(ring))) == ["canary-ring"]


class Described(msgspec.Struct):
    """Settings of which nobody said that they are secret."""

    api_key: Annotated[str, msgspec.Meta(description="the key")] = ""
    password: Annotated[str, signet.setting("the password")] = ""
    tokens: list[str] = []
    max_tokens: Annotated[int, signet.setting("how long")] = 5
    public_token: Annotated[str, signet.setting("one that all may read", secret=False)] = ""
    headers: dict[str, str] = {}
    address: str = ""
    place: dict[str, Any] = {}


DESCRIBED = {
    "WEATHER_API_KEY": "canary-1f",
    "WEATHER_PASSWORD": "canary-2f",
    "WEATHER_TOKENS": "canary-3f,canary-4f",
    "WEATHER_PUBLIC_TOKEN": "for-all",
    "WEATHER_HEADERS": '{"Authorization": "canary-5f", "X-My-Key": "canary-6f", "X-Team": "seven"}',
    "WEATHER_ADDRESS": "https://someone:canary-7f@a.example/b",
    "WEATHER_PLACE": '{"city": "Bern", "login": {"secret": ["canary-8f"], "tries": 2}}',
}


def test_a_name_says_what_is_a_secret_in_a_setting_of_any_type_and_inside() -> None:
    with declared(show, settings=Described):
        settings = Settings.read(DESCRIBED, {})

        assert {f"canary-{number}f" for number in range(1, 9)} <= set(settings.secrets())
        assert not {"for-all", "seven", "Bern", "5", "2"} & set(settings.secrets())
        recorded = {name: value for name, value in settings.recorded().items() if name.startswith("weather")}
        assert recorded == {
            "weather_max_tokens": 5,
            "weather_public_token": "for-all",
            "weather_headers": {"Authorization": "[redacted]", "X-My-Key": "[redacted]", "X-Team": "seven"},
            "weather_address": "https://…@a.example/b",
            "weather_place": {"city": "Bern", "login": {"secret": ["[redacted]"], "tries": 2}},
        }


class Login(msgspec.Struct):
    token: Annotated[str, msgspec.Meta(pattern="^k-")]


def test_a_value_that_is_none_of_its_type_without_its_secrets_is_not_recorded() -> None:
    class Own(msgspec.Struct):
        login: Login | None = None
        days: int = 3

    with declared(show, settings=Own):
        recorded = Settings.read({"WEATHER_LOGIN": '{"token": "k-canary"}'}, {}).recorded()

        assert {name for name in recorded if name.startswith("weather")} == {"weather_days"}


class Mixed(msgspec.Struct):
    """Settings that may have one of several types."""

    a: int | str = 1
    b: int | bool = 1
    c: Literal[1, 2] = 1
    d: bool | str = False
    e: int | float = 1
    f: str | int | None = None


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("a", "abc", "'abc'"),
        ("b", "true", "True"),
        ("b", "7", "7"),
        ("c", "2", "2"),
        ("d", "perhaps", "'perhaps'"),
        ("e", "0.5", "0.5"),
        ("f", "abc", "'abc'"),
    ],
)
def test_a_text_is_read_as_any_of_several_types(name: str, text: str, value: str) -> None:
    with declared(show, settings=Mixed) as toolset:
        found = call(toolset, ("show", {}), environ={f"WEATHER_{name.upper()}": text}).result

    assert found[name] == value


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [("c", "9", "'9' cannot be used; write 1 or 2"), ("b", "x", "'x' cannot be used; write a whole number or true or")],
)
def test_what_is_none_of_several_types_is_refused_with_all_of_them(name: str, text: str, words: str) -> None:
    assert refused({f"WEATHER_{name.upper()}": text}, Mixed).startswith(f"WEATHER_{name.upper()}: {words}")


@pytest.mark.parametrize("first_line", ["from __future__ import annotations", ""])
def test_types_in_quotes_and_of_a_base_class_are_read(tmp_path: Path, first_line: str) -> None:
    path = tmp_path / "weather.py"
    path.write_text(
        first_line
        + """
from typing import Annotated
import msgspec
import signet

class Base(msgspec.Struct):
    days: Annotated[int, msgspec.Meta(ge=1, le=9), signet.setting("how many")] = 3

class WeatherSettings(Base):
    cities: list[str] = []

@signet.tool
def show(context: signet.Context) -> list[str]:
    '''Show the settings.'''
    return [*context.settings.cities, str(context.settings.days)]

weather = signet.Toolset(name="weather", tools=[show], settings=WeatherSettings)
""",
        encoding="utf-8",
    )

    done = run("call", "--toolsets", str(path), "show", env={"WEATHER_CITIES": "Bern", "WEATHER_DAYS": "4"})
    wrong = run("call", "--toolsets", str(path), "show", env={"WEATHER_DAYS": "10"})

    assert (done.returncode, done.stdout) == (0, b'{"result":["Bern","4"]}\n'), done.stderr
    assert (wrong.returncode, wrong.stderr.decode()) == (
        2,
        "signet: WEATHER_DAYS: '10' cannot be used; write a whole number from 1 to 9\n",
    )


def test_settings_that_are_no_struct_are_refused() -> None:
    class Own:
        days: int = 3

    declaration = ToolsetDeclaration(name="weather", tools=[show], settings=Own)

    with pytest.raises(DeclarationError, match="settings= of the toolset weather is no class of settings: write class"):
        build_toolset(declaration, None)


def test_types_that_cannot_be_read_are_named() -> None:
    class Own(msgspec.Struct):
        days: NoSuchType = 3  # type: ignore[name-defined]  # noqa: F821

    declaration = ToolsetDeclaration(name="weather", tools=[show], settings=Own)

    with pytest.raises(DeclarationError, match=r"the types of Own cannot be read .*NoSuchType.*: import or define"):
        build_toolset(declaration, None)


def test_a_setting_cannot_take_the_name_of_one_of_signet() -> None:
    class Own(msgspec.Struct):
        dir: str = ""

    with declared(show, name="log", settings=Own), pytest.raises(UsageError) as caught:
        Settings.read({}, {})

    assert str(caught.value) == "SIGNET_LOG_DIR is a setting of Signet: rename the toolset, or its setting"
