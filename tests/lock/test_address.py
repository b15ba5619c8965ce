"""Addresses of servers: no secret of a command line or a URL is shown."""

from __future__ import annotations

import pytest

from signet.lock.address import shown_command, shown_url


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("server --token=abc --port=1", "server --token=[redacted] --port=1"),
        ("--api-key abc --port 1", "--api-key [redacted] --port 1"),
        ("-password abc abc", "-password [redacted] abc"),
        ("--token= next", "--token=[redacted] next"),
        ("--token --verbose abc", "--token --verbose abc"),
        ("TOKEN=abc run", "TOKEN=[redacted] run"),
        ("token abc", "token abc"),
        ("run ghp_0123456789abcdef", "run [redacted]"),
        ("run ghp_", "run ghp_"),
        ("python -m signet_tools_for_2_projects", "python -m signet_tools_for_2_projects"),
        ("npx https://me:secret@host/x?key=abc#part", "npx https://host/x?key=[redacted]"),
    ],
)
def test_the_secrets_of_a_command_are_redacted_and_all_else_is_shown(command: str, shown: str) -> None:
    assert shown_command(command.split()) == tuple(shown.split())


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host:8080/a/b", "https://host:8080/a/b"),
        ("https://me:secret@host/a", "https://host/a"),
        ("https://host/?a=1&b=2&c", "https://host/?a=[redacted]&b=[redacted]&c"),
        ("https://host/?secret", "https://host/?[redacted]"),
        ("https://host/#secret", "https://host/"),
        ("https://[host/", "[redacted]"),
    ],
)
def test_the_secrets_of_a_url_are_redacted_and_all_else_is_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown
