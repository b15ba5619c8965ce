"""Settings: flags over environment over defaults, and a sentence for what is neither."""

from __future__ import annotations

import pytest

from signet.settings.catalogue import find_toolset
from signet.settings.fields import Given, join_list, split_list
from signet.settings.model import Settings
from signet.settings.names import known_settings
from signet.settings.usage import UsageError

SWITCHES = ["dev", "access_log", "log_lenient", "journal", "deterministic_ids", "sandbox", "quiet", "console"]


def value_of(settings: Settings, name: str) -> object:
    """Return a setting by its flat name: of the process, or of a toolset."""
    toolset, _, field = name.partition("_")
    return (
        getattr(settings.of(find_toolset(toolset)), field)
        if toolset in {"oj", "boj", "plantuml"}
        else getattr(settings, name)
    )


def test_defaults_work() -> None:
    settings = Settings.read({}, {})

    assert (settings.host, settings.port, settings.token) == ("127.0.0.1", 8080, None)


def test_a_flag_wins_over_the_environment_and_that_over_the_default() -> None:
    environ = {"SIGNET_PORT": "9000", "SIGNET_WORKERS": "2", "PATH": "/bin"}

    settings = Settings.read(environ, {"port": "9001", "workers": None})

    assert (settings.port, settings.workers, settings.host) == (9001, 2, "127.0.0.1")


@pytest.mark.parametrize(
    ("environ", "flags", "told"),
    [
        ({"SIGNET_PORT": "x"}, {}, "SIGNET_PORT: "),
        ({"SIGNET_PORT": "1"}, {"port": "70000"}, "--port: "),
        ({}, {"port": "-1"}, "--port: "),
        ({}, {"call_timeout_s": "0"}, "--call-timeout-s: "),
        ({"OJ_TIMEOUT_S": "x"}, {}, "OJ_TIMEOUT_S: "),
        ({}, {"prot": "1"}, "--prot: there is no such setting"),
    ],
)
def test_what_is_no_setting_is_told_by_name(environ: dict[str, str], flags: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Settings.read(environ, flags)


RANGES = {
    "port": "a whole number from 0 to 65535",
    "connections_per_address": "a whole number from 1 to 1000000",
    "workers": "a whole number from 1 to 64",
    "call_timeout_s": "a number above 0, at most 3600",
    "plantuml_render_timeout_s": "a number above 0, at most 60",
    "plantuml_render_memory_mb": "a whole number from 1024 to 16384",
    "plantuml_render_processes": "a whole number from 1 to 16",
    "oj_timeout_s": "a number above 0, at most 30",
    "boj_timeout_ms": "a whole number from 0 to 18446744073709551615",
    "boj_retry_max": "a whole number from 0 to 4294967295",
    "boj_retry_backoff_ms": "a whole number from 0 to 18446744073709551615",
    "boj_min_interval_ms": "a whole number from 0 to 60000",
    "boj_cache_s": "a whole number from 0 to 86400",
    "boj_max_body_mb": "a whole number from 1 to 1024",
    "boj_max_result_mb": "a whole number from 1 to 1024",
    "boj_index_days": "a whole number from 1 to 365",
    "drain_s": "a number from 0 to 3600",
    "metrics_port": "a whole number from 0 to 65535",
    "journal_keep": "a whole number from 1 to 1000000",
    "journal_max_mb": "a whole number from 1 to 1000000000",
    "log_format": "text or json",
    "validation": "off, shadow or enforce",
    "stdio_reader": "auto or thread",
    "oj_offline": "true or false",
    **dict.fromkeys(SWITCHES, "true or false"),
}
"""Every setting that is more than a text, and what to write for it."""


@pytest.mark.parametrize("value", ["foo", "-1", "99999999999999999999999", "9" * 5000, "nan", "null"])
@pytest.mark.parametrize("name", RANGES)
def test_what_cannot_be_used_is_told_with_what_to_write(name: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings.read({f"SIGNET_{name.upper()}": value}, {})

    assert str(caught.value) == f"SIGNET_{name.upper()}: {value[:50]!r} cannot be used; write {RANGES[name]}"


def test_every_setting_that_is_not_told_what_to_write_for_is_a_text() -> None:
    texts = [name for name, field in known_settings().items() if name not in RANGES and not field.is_switch]

    read = Settings.read({}, dict.fromkeys(set(texts) - {"record", "toolsets"}, "any text"))

    assert {value_of(read, name) for name in texts} == {"any text", None, ""}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_written_as_people_do(name: str) -> None:
    on = [getattr(Settings.read({}, {name: text}), name) for text in ("true", "1", "yes", "on", "YES")]
    off = [getattr(Settings.read({}, {name: text}), name) for text in ("false", "0", "no", "off", "False")]

    assert (on, off) == ([True] * 5, [False] * 5)


@pytest.mark.parametrize("name", ["boj_timeout_ms", "boj_retry_backoff_ms"])
def test_sixty_four_bits_of_milliseconds_are_taken_and_mean_a_year_at_most(name: str) -> None:
    """Spec 3's type is unsigned; no timer waits so long."""
    longest = [value_of(Settings.read({}, {name: str(ms)}), name) for ms in (2**63 - 1, 2**64 - 1)]

    assert longest == [365 * 24 * 3600 * 1000] * 2


@pytest.mark.spec("1.S2.1.timeout")
def test_no_setting_lets_a_request_to_the_judge_take_longer_than_its_spec_does() -> None:
    assert value_of(Settings.read({"OJ_TIMEOUT_S": "30"}, {}), "oj_timeout_s") == 30.0
    with pytest.raises(UsageError, match=r"^OJ_TIMEOUT_S: '33' cannot be used; write a number above 0, at most 30$"):
        Settings.read({"OJ_TIMEOUT_S": "33"}, {})


@pytest.mark.parametrize("name", ["token", "oj_token"])
@pytest.mark.parametrize("blank", ["", " ", "\t \n"])
def test_a_blank_token_is_none(name: str, blank: str) -> None:
    """From either side: a flag wins over the environment here too."""
    by_variable = Settings.read({f"SIGNET_{name.upper()}": blank}, {})
    by_flag = Settings.read({f"SIGNET_{name.upper()}": "a-token"}, {name: blank})

    assert (value_of(by_variable, name), value_of(by_flag, name)) == (None, None)
    assert by_variable.secrets() == ()


def test_blanks_around_the_token_do_not_count() -> None:
    """No header carries them."""
    settings = Settings.read({"SIGNET_TOKEN": " a token\n"}, {})

    assert settings.token == "a token"


@pytest.mark.parametrize("odd", ["é", "\x7f", "\x01", "\r\n", "\udcff", "\u3000"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_repeated(odd: str) -> None:
    sentence = "the token has characters that no HTTP header can carry; write it in printable ASCII"

    with pytest.raises(UsageError) as by_variable:
        Settings.read({"SIGNET_TOKEN": f"half{odd}other"}, {})
    with pytest.raises(UsageError) as by_flag:
        Settings.read({}, {"token": f"half{odd}other"})

    assert str(by_variable.value) == f"SIGNET_TOKEN: {sentence}"
    assert str(by_flag.value) == f"--token: {sentence}"


def test_the_token_is_not_told_when_something_else_is_wrong() -> None:
    with pytest.raises(UsageError) as caught:
        Settings.read({"SIGNET_TOKEN": "hunter2", "SIGNET_PORT": "x"}, {})

    assert "hunter2" not in str(caught.value)


def test_lists_are_split_at_commas() -> None:
    settings = Settings(toolsets=" oj, boj,", allowed_hosts="One.example ,two.example")

    assert [toolset.name for toolset, _ in settings.enabled()] == ["oj", "boj"]

    assert settings.host_names() == {"one.example", "two.example"}


@pytest.mark.parametrize("name", ["SIGNET_VALIDATION", "SIGNET_SANDBOX", "SIGNET_CALL_TIMEOUT_S", "OJ_TOKEN"])
def test_what_is_no_text_is_told_and_not_repeated(name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: it is not UTF-8 text; write it in UTF-8$"):
        Settings.read({name: "abc\udcff"}, {})


def test_a_variable_that_is_set_to_nothing_is_not_set() -> None:
    environ = {"SIGNET_LOG_DIR": "", "SIGNET_PORT": " ", "SIGNET_VALIDATION": "", "SIGNET_BOJ_RETRY_MAX": ""}

    assert Settings.read({**environ, "BOJ_RETRY_MAX": "", "BOJ_BASE_URL": " ", "OJ_TOKEN": ""}, {}) == Settings()


def test_a_variable_that_is_set_to_nothing_leaves_the_file_its_word() -> None:
    file = {"boj_base_url": Given("http://file.example", "the file")}

    settings = Settings.read({"BOJ_BASE_URL": ""}, {}, file=file)

    assert settings.of(find_toolset("boj")).base_url == "http://file.example"


def test_of_some_variables_the_others_are_not_read() -> None:
    environ = {"BOJ_RETRY_MAX": "3", "BOJ_TIMEOUT_MS": "no number", "SIGNET_PORT": "no port"}

    settings = Settings.read(environ, {}, prefix="boj_", variables=("boj_retry_max",))

    assert (settings.of(find_toolset("boj")).retry_max, settings.port) == (3, 8080)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a, b,,c ,", ["a", "b", "c"]),
        (r"p\, q/a\,b.py, boj", ["p, q/a,b.py", "boj"]),
        ("C:\\tools\\own.py,boj", ["C:\\tools\\own.py", "boj"]),
        ("", []),
    ],
)
def test_a_comma_behind_a_backslash_belongs_to_its_word(text: str, words: list[str]) -> None:
    assert split_list(text) == words
    assert split_list(join_list(words)) == words
