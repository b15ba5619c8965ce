"""Secrets that stand in files: SIGNET_TOKEN_FILE and the like of every secret setting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from audit_logs import lines_in
from processes import run, serving
from signet.settings.names import known_settings, variable_of
from signet.settings.reading import read_configuration
from signet.settings.usage import UsageError

SECRET = "a-secret-of-some-length"
SECRETS = [variable_of(name) for name, field in known_settings().items() if field.secret and field.help]


def kept(tmp_path: Path, content: bytes = SECRET.encode() + b"\n") -> str:
    """Write the file of a secret, and return its path."""
    path = tmp_path / "secret"
    path.write_bytes(content)
    return str(path)


def refusal(variables: dict[str, str]) -> str:
    """Return why settings are refused."""
    with pytest.raises(UsageError) as refused:
        read_configuration(variables, {}, search=False)
    return str(refused.value)


@pytest.mark.parametrize("variable", SECRETS)
def test_every_secret_setting_is_read_from_the_file_that_its_variable_names(tmp_path: Path, variable: str) -> None:
    path = kept(tmp_path, b"redis://:pass@127.0.0.1:6379/0\n" if variable == "SIGNET_STORE" else SECRET.encode())

    configuration = read_configuration({f"{variable}_FILE": path}, {}, search=False)

    given = {one.source: one.value for one in configuration.given.values()}
    assert given == {f"{variable}_FILE": Path(path).read_text(encoding="utf-8").removesuffix("\n")}
    assert configuration.warnings == {}


def test_the_secrets_of_the_process_and_of_a_toolset_are_among_them() -> None:
    assert {"SIGNET_TOKEN", "SIGNET_STORE", "SIGNET_AUDIT_KEY", "OJ_TOKEN"} <= set(SECRETS)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b"key\n", "key"),
        (b"key", "key"),
        (b"key\r\n", "key"),
        (b"key\n\n", "key\n"),
        (b" key \n", " key "),
        (b"key\r", "key\r"),
    ],
)
def test_one_line_end_is_left_out_and_nothing_else(tmp_path: Path, content: bytes, key: str) -> None:
    variables = {"SIGNET_AUDIT_KEY_FILE": kept(tmp_path, content)}

    assert read_configuration(variables, {}, search=False).settings.audit_key == key


@pytest.mark.parametrize("prefix", ["", "SIGNET_"])
def test_the_variable_of_a_toolset_may_lack_the_prefix(tmp_path: Path, prefix: str) -> None:
    given = read_configuration({f"{prefix}OJ_TOKEN_FILE": kept(tmp_path)}, {}, search=False).given

    assert (given["oj_token"].value, given["oj_token"].source) == (SECRET, f"{prefix}OJ_TOKEN_FILE")


@pytest.mark.parametrize(
    ("plain", "file"),
    [
        *((variable, f"{variable}_FILE") for variable in SECRETS),
        ("SIGNET_OJ_TOKEN", "OJ_TOKEN_FILE"),
        ("OJ_TOKEN", "SIGNET_OJ_TOKEN_FILE"),
    ],
)
def test_beside_the_plain_variable_the_start_is_refused(tmp_path: Path, plain: str, file: str) -> None:
    message = refusal({plain: "memory:", file: kept(tmp_path)})

    assert message == f"{plain} and {file} are both set: remove one of them"


def test_a_variable_that_is_set_to_nothing_is_not_set(tmp_path: Path) -> None:
    path = kept(tmp_path)

    assert read_configuration({"SIGNET_TOKEN_FILE": " "}, {}, search=False).settings.token is None
    assert (
        read_configuration({"SIGNET_TOKEN": "", "SIGNET_TOKEN_FILE": path}, {}, search=False).settings.token == SECRET
    )


def test_a_flag_wins_over_the_file_and_the_file_over_signet_toml(tmp_path: Path) -> None:
    (tmp_path / "signet.toml").write_text('token = "of-the-settings-file"\n')
    config = {"config": str(tmp_path / "signet.toml")}
    variables = {"SIGNET_TOKEN_FILE": kept(tmp_path)}

    assert read_configuration(variables, config).settings.token == SECRET
    assert read_configuration(variables, {**config, "token": "of-the-flag"}).settings.token == "of-the-flag"


@pytest.mark.parametrize("kind", ["missing", "a folder", "empty", "blank", "not text", "too large", "a pipe"])
def test_a_file_that_cannot_be_used_stops_the_start_and_no_message_has_its_path(tmp_path: Path, kind: str) -> None:
    """The path may be the secret itself, written into the wrong variable."""
    path = tmp_path / "secret-path"
    contents = {"empty": b"", "blank": b" \n", "not text": b"\xff\xfe", "too large": b"x" * 70_000}
    if kind in contents:
        path.write_bytes(contents[kind])
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)

    message = refusal({"SIGNET_TOKEN_FILE": str(path)})

    assert message.startswith("SIGNET_TOKEN_FILE: ")
    assert "secret-path" not in message
    assert "xxx" not in message


def test_a_setting_that_is_no_secret_has_no_such_variable(tmp_path: Path) -> None:
    configuration = read_configuration({"SIGNET_PORT_FILE": kept(tmp_path)}, {}, search=False)

    assert configuration.given == {}
    assert "SIGNET_PORT_FILE is not a setting of Signet" in configuration.warnings["variables.ignored"]


def test_signet_config_shows_the_variable_and_hides_the_secret(tmp_path: Path) -> None:
    shown = run("config", "--json", env={"SIGNET_TOKEN_FILE": kept(tmp_path)})

    rows = {row["name"]: row for row in json.loads(shown.stdout)["settings"]}
    assert rows["token"] == {"name": "token", "value": "(set, hidden)", "origin": "SIGNET_TOKEN_FILE"}
    assert SECRET.encode() not in shown.stdout + shown.stderr
    assert shown.stderr == b""


def test_a_server_takes_its_token_and_its_audit_key_from_files_and_shows_neither(tmp_path: Path) -> None:
    token, key, log = tmp_path / "token", tmp_path / "key", tmp_path / "audit.jsonl"
    token.write_text(f"{SECRET}\n")
    key.write_text("the-key-of-the-log\n")
    files = {"SIGNET_TOKEN_FILE": str(token), "SIGNET_AUDIT_KEY_FILE": str(key)}
    with serving("--audit-log", str(log), "--log", "debug", env=files) as server:
        statuses = [
            server.ask("GET", "/api/tools", headers={"authorization": f"Bearer {text}"}).status
            for text in (SECRET, "another-one")
        ]
        said = server.stderr()

    with_key = run("audit", "verify", str(log), env={"SIGNET_AUDIT_KEY_FILE": str(key)})
    without = run("audit", "verify", str(log))

    assert statuses == [200, 401]
    assert (with_key.returncode, without.returncode) == (0, 1)
    with pytest.raises(AssertionError):
        lines_in(log)
    assert SECRET not in said + log.read_text(encoding="utf-8")
    assert "the-key-of-the-log" not in said + with_key.stdout.decode()
