"""Settings: flags over environment over defaults, and a sentence for what is neither."""

from __future__ import annotations

import pytest

from signet.settings import Settings, UsageError


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
        ({"SIGNET_PROT": "1"}, {}, "SIGNET_PROT is not a setting"),
        ({"SIGNET_PORT": "x"}, {}, "SIGNET_PORT: "),
        ({"SIGNET_PORT": "1"}, {"port": "70000"}, "--port: "),
        ({}, {"port": "-1"}, "--port: "),
        ({}, {"call_timeout_s": "0"}, "--call-timeout-s: "),
        ({"OJ_TIMEOUT_S": "x"}, {}, "OJ_TIMEOUT_S: "),
    ],
)
def test_what_is_no_setting_is_told_by_name(environ: dict[str, str], flags: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Settings.read(environ, flags)


def test_the_token_is_not_told_when_something_else_is_wrong() -> None:
    with pytest.raises(UsageError) as caught:
        Settings.read({"SIGNET_TOKEN": "hunter2", "SIGNET_PORT": "x"}, {})

    assert "hunter2" not in str(caught.value)


def test_lists_are_split_at_commas() -> None:
    settings = Settings(toolsets=" a, b,", allowed_hosts="One.example ,two.example")

    assert settings.toolset_names() == ("a", "b")
    assert settings.host_names() == {"one.example", "two.example"}
