"""A setting: described beside its type, read from the text that people write, refused in a sentence."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from signet.settings.fields import Setting, setting, settings_of


class Sample(msgspec.Struct, frozen=True):
    url: Annotated[str | None, setting("where it is", metavar="URL", flag=True, recorded=True)] = None
    token: Annotated[str | None, setting("what opens it", secret=True)] = None
    level: Annotated[Literal["low", "high"], setting("how loud")] = "low"
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535), setting("where to listen")] = 8080
    wait_ms: Annotated[int, msgspec.Meta(ge=0, le=1000), setting("how long", up_to=2**64 - 1)] = 200
    rate: Annotated[float, msgspec.Meta(gt=0, le=300), setting("how fast")] = 2.5
    share: Annotated[float, msgspec.Meta(ge=0, le=1), setting("which part")] = 1.0
    names: Annotated[str, msgspec.Meta(min_length=1), setting("who")] = "all"
    tries: Annotated[None | Annotated[int, msgspec.Meta(ge=1, le=9)], setting("how often")] = None  # noqa: RUF036 - either order
    quiet: Annotated[bool, setting("whether to say nothing", default_text="off")] = False
    hidden: int = 7


BY_NAME = {one.name: one for one in settings_of(Sample)}


def test_the_fields_of_a_struct_are_its_settings_in_their_order() -> None:
    assert list(BY_NAME) == [
        "url",
        "token",
        "level",
        "port",
        "wait_ms",
        "rate",
        "share",
        "names",
        "tries",
        "quiet",
        "hidden",
    ]


def test_a_setting_is_all_that_was_said_beside_its_type() -> None:
    assert BY_NAME["url"] == Setting(
        "url", BY_NAME["url"].type, None, "where it is", metavar="URL", flag=True, recorded=True
    )
    assert (BY_NAME["token"].secret, BY_NAME["token"].flag) == (True, False)


def test_a_field_that_is_not_described_has_a_default_and_no_help() -> None:
    assert (BY_NAME["hidden"].default, BY_NAME["hidden"].help) == (7, "")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("url", ""), ("level", "low"), ("port", "8080"), ("rate", "2.5"), ("quiet", "off"), ("token", "")],
)
def test_a_default_is_shown_as_people_read_it(name: str, shown: str) -> None:
    assert BY_NAME[name].shown_default == shown


@pytest.mark.parametrize(("name", "expected"), [("quiet", True), ("port", False), ("url", False)])
def test_a_switch_is_what_is_true_or_false(name: str, expected: bool) -> None:
    assert BY_NAME[name].is_switch is expected


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("url", "https://x.example", "https://x.example"),
        ("level", "high", "high"),
        ("port", "80", 80),
        ("port", "+80", 80),
        ("port", "0080", 80),
        ("port", "0" * 5000 + "80", 80),
        ("wait_ms", "+007", 7),
        ("wait_ms", "00", 0),
        ("rate", "0.5", 0.5),
        ("rate", "1e1", 10.0),
        ("wait_ms", "1000", 1000),
        ("wait_ms", "1001", 1000),
        ("wait_ms", str(2**64 - 1), 1000),
        ("quiet", "true", True),
        ("quiet", "ON", True),
        ("quiet", "yes", True),
        ("quiet", "1", True),
        ("quiet", "No", False),
        ("quiet", "0", False),
    ],
)
def test_a_text_is_read_as_its_type(name: str, text: str, value: object) -> None:
    assert BY_NAME[name].read(text) == value


@pytest.mark.parametrize("value", ['token="s3cr3tOfMine"', "x\nPassword: s3cr3tOfMine", "ghp_s3cr3tOfMine" + "0" * 40])
def test_a_refusal_repeats_no_secret_of_a_value(value: str) -> None:
    """Somebody may have written a line for a file of settings where another value belongs."""
    with pytest.raises(ValueError, match=r"cannot be used; write a whole number") as caught:
        BY_NAME["port"].read(value)

    assert "s3cr3t" not in str(caught.value)


def test_a_value_that_is_no_text_is_taken_if_it_is_of_its_type() -> None:
    assert BY_NAME["port"].read(80) == 80
    with pytest.raises(ValueError, match=r"^80\.5 cannot be used; write a whole number from 1 to 65535$"):
        BY_NAME["port"].read(80.5)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("port", 1, 1),
        ("port", 65_535, 65_535),
        ("wait_ms", 0, 0),
        ("wait_ms", 1000, 1000),
        ("wait_ms", 1001, 1000),
        ("wait_ms", 2**64 - 1, 1000),
        ("rate", 300, 300.0),
        ("share", 0, 0.0),
        ("quiet", False, False),
    ],
)
def test_a_value_of_a_file_is_taken_within_its_limits(name: str, given: object, value: object) -> None:
    assert BY_NAME[name].read(given) == value


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("port", 0, "0 cannot be used; write a whole number from 1 to 65535"),
        ("port", 65_536, "65536 cannot be used; write a whole number from 1 to 65535"),
        ("port", True, "true cannot be used; write a whole number from 1 to 65535"),
        ("port", [80], "this cannot be used; write a whole number from 1 to 65535"),
        ("wait_ms", -1, f"-1 cannot be used; write a whole number from 0 to {2**64 - 1}"),
        ("wait_ms", 0.5, f"0.5 cannot be used; write a whole number from 0 to {2**64 - 1}"),
        ("wait_ms", 2**64, f"{2**64} cannot be used; write a whole number from 0 to {2**64 - 1}"),
        ("wait_ms", False, f"false cannot be used; write a whole number from 0 to {2**64 - 1}"),
        ("rate", 0, "0 cannot be used; write a number above 0, at most 300"),
        ("rate", 10**49, f"{10**49} cannot be used; write a number above 0, at most 300"),
        ("rate", 10**50, "this cannot be used; write a number above 0, at most 300"),
        ("share", 2, "2 cannot be used; write a number from 0 to 1"),
        ("names", 5, "5 cannot be used; write a text in quotes"),
        ("token", 5, "this cannot be used; write a text in quotes"),
        ("quiet", 1, "1 cannot be used; write true or false"),
    ],
)
def test_a_value_of_a_file_beyond_its_limits_is_refused_with_what_to_write(name: str, given: object, told: str) -> None:
    with pytest.raises(ValueError, match="cannot be used") as caught:
        BY_NAME[name].read(given)

    assert str(caught.value) == told


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_a_blank_secret_is_none(blank: str) -> None:
    assert BY_NAME["token"].read(blank) is None


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        ("port", "0", "write a whole number from 1 to 65535"),
        ("port", "65536", "write a whole number from 1 to 65535"),
        ("port", "-1", "write a whole number from 1 to 65535"),
        ("port", "1e3", "write a whole number from 1 to 65535"),
        ("port", "８０", "write a whole number from 1 to 65535"),
        ("port", "", "write a whole number from 1 to 65535"),
        ("wait_ms", str(2**64), f"write a whole number from 0 to {2**64 - 1}"),
        ("rate", "0", "write a number above 0, at most 300"),
        ("rate", "soon", "write a number above 0, at most 300"),
        ("share", "1.1", "write a number from 0 to 1"),
        ("names", "", "write a text that is not empty"),
        ("tries", "10", "write a whole number from 1 to 9"),
        ("level", "loud", "write low or high"),
        ("quiet", "maybe", "write true or false"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_to_write(name: str, text: str, remedy: str) -> None:
    with pytest.raises(ValueError, match="cannot be used") as caught:
        BY_NAME[name].read(text)

    assert str(caught.value) == f"{text[:50]!r} cannot be used; {remedy}"


def test_a_long_value_is_repeated_to_a_bound() -> None:
    with pytest.raises(ValueError, match="cannot be used") as caught:
        BY_NAME["level"].read("x" * 5000)

    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("name", ["url", "token", "level"])
def test_bytes_that_are_not_utf8_are_refused_and_not_repeated(name: str) -> None:
    text: Any = b"hunter\xff2".decode(errors="surrogateescape")

    with pytest.raises(ValueError, match="not UTF-8") as caught:
        BY_NAME[name].read(text)

    assert "hunter" not in str(caught.value)
