"""The configuration: which value wins, where it comes from, and a sentence for what is no setting."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from own_toolsets import declared
from processes import PATIENCE_S, ROOT, clean_env
from signet.settings.catalogue import find_toolset
from signet.settings.reading import Configuration, read_configuration
from signet.settings.usage import UsageError
from signet.settings.variables import ignored_variables


def read(path: Path, text: str, flags: dict[str, Any] | None = None, **environ: str) -> Configuration:
    """Read a file with this text."""
    path.mkdir(exist_ok=True)
    (path / "signet.toml").write_text(text, encoding="utf-8")
    return read_configuration(environ, {"config": str(path / "signet.toml"), **(flags or {})})


def refused(path: Path, text: str, **environ: str) -> str:
    with pytest.raises(UsageError) as caught:
        read(path, text, **environ)
    return str(caught.value).replace(str(path / "signet.toml"), "FILE")


# --- which value wins


def test_a_flag_wins_over_a_variable_and_that_over_the_file_and_that_over_the_default(tmp_path: Path) -> None:
    text = "port = 1\nworkers = 2\nquiet = true\n"

    settings, given, _ = read(tmp_path, text, {"port": "3"}, SIGNET_PORT="2", SIGNET_WORKERS="3")

    assert (settings.port, settings.workers, settings.quiet, settings.host) == (3, 3, True, "127.0.0.1")
    file = tmp_path / "signet.toml"
    assert {name: one.source for name, one in given.items()} == {
        "port": "--port", "workers": "SIGNET_WORKERS", "quiet": f"{file}:quiet", "config": "--config",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "environ", "value", "source"),
    [
        ({}, {}, "http://file.example", "FILE:settings.boj.base_url"),
        ({}, {"BOJ_BASE_URL": "http://bare.example"}, "http://bare.example", "BOJ_BASE_URL"),
        (
            {},
            {"BOJ_BASE_URL": "http://bare.example", "SIGNET_BOJ_BASE_URL": "http://prefixed.example"},
            "http://prefixed.example",
            "SIGNET_BOJ_BASE_URL",
        ),
        (
            {"boj_base_url": "http://flag.example"},
            {"BOJ_BASE_URL": "http://bare.example"},
            "http://flag.example",
            "--boj-base-url",
        ),
    ],
)
def test_the_same_holds_for_the_settings_of_a_toolset(
    flags: dict[str, str], environ: dict[str, str], value: str, source: str, tmp_path: Path
) -> None:
    text = '[settings.boj]\nbase_url = "http://file.example"\nretry-max = 7\n'

    settings, given, _ = read(tmp_path, text, flags, **environ)

    own = settings.of(find_toolset("boj"))
    assert (own.base_url, own.retry_max) == (value, 7)
    assert given["boj_base_url"].source.replace(str(tmp_path / "signet.toml"), "FILE") == source


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("call_timeout_s = 20", "call_timeout_s", 20.0),
        ("call-timeout-s = 0.5", "call_timeout_s", 0.5),
        ('port = "9000"', "port", 9000),
        ("journal = false", "journal", False),
        ('journal = "no"', "journal", False),
        ('token = " a token "', "token", "a token"),
        ('toolsets = ["boj", "oj"]', "toolsets", "boj,oj"),
        ('toolsets = "boj, oj"', "toolsets", "boj,oj"),
        ('allowed_hosts = ["a.example", "b.example"]', "allowed_hosts", "a.example,b.example"),
        ("toolsets = []", "toolsets", ""),
    ],
)
def test_a_value_has_the_type_of_toml_or_is_written_as_its_flag_is(
    text: str, name: str, value: object, tmp_path: Path
) -> None:
    assert getattr(read(tmp_path, text).settings, name) == value


def test_sixty_four_bits_of_milliseconds_are_limited_as_those_of_a_flag(tmp_path: Path) -> None:
    settings = read(tmp_path, f"[settings.boj]\ntimeout_ms = {2**64 - 1}\n").settings

    assert settings.of(find_toolset("boj")).timeout_ms == 365 * 24 * 3600 * 1000


def test_the_example_of_the_page_is_a_file_of_settings(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/configuration.md").read_text(encoding="utf-8"), re.DOTALL)

    settings, given, _ = read(tmp_path, text)

    assert settings.toolsets == "plantuml,boj"
    assert (settings.port, settings.call_timeout_s, settings.validation) == (9000, 20.0, "shadow")
    assert (settings.allowed_hosts, settings.log_dir) == ("tools.example", f"{tmp_path}/journal")
    own = settings.of(find_toolset("boj"))
    assert (own.base_url, own.retry_max) == ("https://www.stat-search.boj.or.jp", 3)
    assert len(given) == len(re.findall("^[a-z_]+ =", text, re.MULTILINE)) + 1


# --- what is no setting


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\nprot = 1", "FILE:prot (line 2): there is no such setting; did you mean port?"),
        ("[settings.bjo]\nx = 1", "FILE:settings.bjo (line 1): there is no such toolset; did you mean boj?"),
        (
            '[settings.boj]\nbas-url = "x"',
            "FILE:settings.boj.bas-url (line 2): there is no such setting; did you mean base_url?",
        ),
        (
            'settings.boj.bas_url = "x"',
            "FILE:settings.boj.bas_url (line 1): there is no such setting; did you mean base_url?",
        ),
        (
            "[settings.boj-explore]\nx = 1",
            "FILE:settings.boj-explore (line 1): boj-explore has the settings of boj: write [settings.boj]",
        ),
        ('boj_base_url = "x"', "FILE:boj_base_url (line 1): write base_url below [settings.boj]"),
        ('[boj]\nbase_url = "x"', "FILE:boj (line 1): write the settings of boj below [settings.boj]"),
        ("settings = 1", "FILE:settings (line 1): write a table for each toolset, such as [settings.boj]"),
        ("settings.boj = 1", "FILE:settings.boj (line 1): write a table: [settings.boj]"),
        ('config = "x"', "FILE:config (line 1): a file cannot name another; write --config or SIGNET_CONFIG"),
        ("port = 70000", "FILE:port (line 1): 70000 cannot be used; write a whole number from 0 to 65535"),
        ("port = -1", "FILE:port (line 1): -1 cannot be used; write a whole number from 0 to 65535"),
        ("port = true", "FILE:port (line 1): true cannot be used; write a whole number from 0 to 65535"),
        ("port = 80.5", "FILE:port (line 1): 80.5 cannot be used; write a whole number from 0 to 65535"),
        ("port = 1979-05-27", "FILE:port (line 1): this cannot be used; write a whole number from 0 to 65535"),
        (f"port = 0x{'f' * 5000}", "FILE:port (line 1): this cannot be used; write a whole number from 0 to 65535"),
        ("port = [1]", "FILE:port (line 1): this cannot be used; write a whole number from 0 to 65535"),
        ('port = "x"', "FILE:port (line 1): 'x' cannot be used; write a whole number from 0 to 65535"),
        ("quiet = 1", "FILE:quiet (line 1): 1 cannot be used; write true or false"),
        ("call_timeout_s = nan", "FILE:call_timeout_s (line 1): nan cannot be used; write a number above 0, at most"),
        ("validation = 1", "FILE:validation (line 1): 1 cannot be used; write off, shadow or enforce"),
        ("host = 1", "FILE:host (line 1): 1 cannot be used; write a text in quotes"),
        ("token = 12345678", "FILE:token (line 1): this cannot be used; write a text in quotes"),
        ("call_timeout_s = 1\ncall-timeout-s = 2", "FILE:call-timeout-s (line 2): it is there twice, with a hyphen"),
        ("toolsets = 1", 'FILE:toolsets (line 1): write an array of texts, such as ["a", "b"]'),
        ("toolsets = [1]", 'FILE:toolsets (line 1): write an array of texts, such as ["a", "b"]'),
        ('allowed_hosts = ["a,b"]', "FILE:allowed_hosts (line 1): write an array of texts"),
        ('host = ""', "FILE:host (line 1): '' cannot be used; write a text that is not empty"),
        ('host = " "', "FILE:host (line 1): ' ' cannot be used; write a text that is not empty"),
        ('allowed_hosts = [""]', "FILE:allowed_hosts (line 1): write an array of texts"),
        ('record = "a"\nreplay = "b"', "a run is either recorded or replayed"),
    ],
)  # fmt: skip
def test_what_is_no_setting_is_told_by_file_line_and_key(text: str, told: str, tmp_path: Path) -> None:
    assert refused(tmp_path, text).startswith(told)


@pytest.mark.parametrize("name", ["run_name", "log_lenient", "by_toolset", "zzzzzz"])
def test_a_name_inside_the_program_is_no_setting(name: str, tmp_path: Path) -> None:
    told = refused(tmp_path, f'{name} = "x"')

    assert told.startswith(f"FILE:{name} (line 1): there is no such setting; ")


def test_where_no_name_is_near_all_are_told(tmp_path: Path) -> None:
    assert refused(tmp_path, "zzzzzz = 1").startswith(
        "FILE:zzzzzz (line 1): there is no such setting; write one of: host, port, toolsets, token, tls_cert"
    )


# --- paths and targets


TOOLS = """
import msgspec, signet

class Own(msgspec.Struct, frozen=True):
    greeting: str = "hello"
    times: int = 1

@signet.tool
def greet(name: str, ctx: signet.Context) -> str:
    "Greet somebody."
    return " ".join([ctx.settings.greeting] * ctx.settings.times + [name])

greeter = signet.Toolset(name="greeter", tools=[greet], settings=Own)
"""


def signet_in(folder: Path, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own: what a target loads stays in its process."""
    command = [sys.executable, "-m", "signet", *args]
    env = clean_env(environ)
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = """
    host = "unix:run/socket"
    log_dir = "runs"
    record = "tapes"
    tls_cert = "cert.pem"
    tls-key = "/etc/key.pem"
    toolsets = "boj"
    [settings.boj]
    base_url = "http://boj.example"
    index_dir = "index"
    """

    settings = read(tmp_path / "sub", text).settings

    folder = tmp_path / "sub"
    assert (settings.host, settings.log_dir, settings.record) == (
        f"unix:{folder}/run/socket", f"{folder}/runs", f"{folder}/tapes",
    )  # fmt: skip
    assert (settings.tls_cert, settings.tls_key) == (f"{folder}/cert.pem", "/etc/key.pem")
    own = settings.of(find_toolset("boj"))
    assert (own.base_url, own.index_dir) == ("http://boj.example", f"{folder}/index")


def test_paths_of_flags_and_variables_are_not(tmp_path: Path) -> None:
    settings = read(tmp_path / "sub", "", {"log_dir": "a"}, SIGNET_RECORD="b").settings

    assert (settings.log_dir, settings.record) == ("a", "b")


@pytest.mark.parametrize("target", ["tools.py", "./tools.py", "tools:greeter"])
def test_a_target_beside_the_file_is_loaded_from_anywhere_with_its_settings(target: str, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project/tools.py").write_text(TOOLS)
    text = f'toolsets = ["{target}", "plantuml"]\n[settings.greeter]\ngreeting = "ahoy"\ntimes = 2\n'
    (tmp_path / "project/signet.toml").write_text(text)
    call = ("call", "greet", "name=Ann")

    inside = signet_in(tmp_path / "project", *call)
    outside = signet_in(tmp_path / "elsewhere", *call, "--config", "../project/signet.toml")
    by_variable = signet_in(tmp_path / "project", *call, GREETER_GREETING="hi", SIGNET_GREETER_TIMES="1")

    assert (inside.stdout, inside.stderr) == ('{"result":"ahoy ahoy Ann"}\n', "")
    assert outside.stdout == inside.stdout
    assert by_variable.stdout == '{"result":"hi Ann"}\n'


def test_a_table_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    class Own(Struct):
        days: int = 1

    def show() -> str:
        """Show nothing."""
        return ""

    with declared(show, name="my-set", settings=Own):
        told = refused(tmp_path, "[settings.my_set]\ndays = 1\n[settings.my-set]\ndays = 2")

    why = "its table is there twice, with a hyphen and with an underscore; write it once"
    assert told == f"FILE:settings.my-set (line 3): {why}"


def test_a_path_may_have_commas(tmp_path: Path) -> None:
    project = tmp_path / "p, q"
    project.mkdir()
    (project / "a,b.py").write_text(TOOLS)
    (project / "signet.toml").write_text('toolsets = ["a,b.py", "plantuml"]\n')
    (project / "none.toml").write_text("")
    call = ("call", "greet", "name=Ann")

    by_file = signet_in(project, *call)
    by_path = signet_in(tmp_path, *call, "--config", "p, q/signet.toml")
    by_flag = signet_in(project, *call, "--config", "none.toml", "--toolsets", r"plantuml,a\,b.py")
    by_target = signet_in(tmp_path, "tools", "p, q/a,b.py", "--json")
    together = signet_in(tmp_path, "serve", "plantuml,nothing-there")

    assert by_file.stdout == '{"result":"hello Ann"}\n', by_file.stderr
    assert (by_path.stdout, by_flag.stdout) == (by_file.stdout, by_file.stdout), by_path.stderr + by_flag.stderr
    assert '"greet"' in by_target.stdout, by_target.stderr
    assert together.stderr.startswith("signet: there is no toolset 'nothing-there'")


def test_the_settings_of_a_target_are_checked_and_those_of_one_that_is_left_out_are_not(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "signet.toml").write_text('toolsets = ["tools.py"]\n[settings.greeter]\ntime = 2\n')

    wrong = signet_in(tmp_path, "tools")
    other = signet_in(tmp_path, "tools", "--toolsets", "plantuml")

    assert wrong.returncode == 2
    assert wrong.stderr == (
        "signet: signet.toml:settings.greeter.time (line 3): there is no such setting; did you mean times?\n"
    )
    assert (other.returncode, other.stderr) == (0, "")


def test_a_table_of_no_toolset_is_refused_where_the_targets_of_the_file_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "signet.toml").write_text('toolsets = ["tools.py"]\n[settings.greter]\ntimes = 2\n')

    done = signet_in(tmp_path, "tools")

    assert done.stderr == (
        "signet: signet.toml:settings.greter (line 2): there is no such toolset; did you mean greeter?\n"
    )


# --- variables that set nothing


ORCHESTRATED = {
    "SIGNET_PORT": "tcp://10.0.0.1:8080",
    "SIGNET_PORT_8080_TCP": "tcp://10.0.0.1:8080",
    "SIGNET_PORT_8080_TCP_ADDR": "10.0.0.1",
    "SIGNET_PORT_8080_TCP_PORT": "8080",
    "SIGNET_PORT_8080_TCP_PROTO": "tcp",
    "SIGNET_SERVICE_HOST": "10.0.0.1",
    "SIGNET_SERVICE_PORT": "8080",
    "SIGNET_SERVICE_PORT_HTTP": "8080",
}
"""What Kubernetes sets in every container beside a service that is called signet."""


def test_what_an_orchestrator_sets_is_passed_over_with_its_reason() -> None:
    settings, given, warnings = read_configuration(ORCHESTRATED, {}, search=False)

    others = [f"{name} is not a setting of Signet" for name in sorted(ORCHESTRATED)[1:]]
    assert (settings.port, dict(given)) == (8080, {})
    assert warnings == {
        "variables.ignored": "; ".join(["SIGNET_PORT is an address, as an orchestrator sets it, and no port", *others])
    }


def test_another_value_that_is_no_port_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^SIGNET_PORT: 'abc' cannot be used"):
        read_configuration({"SIGNET_PORT": "abc"}, {}, search=False)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SIGNET_PROT", "SIGNET_PORT"),
        ("SIGNET_TOOLSET", "SIGNET_TOOLSETS"),
        ("SIGNET_BOJ_BASEURL", "SIGNET_BOJ_BASE_URL"),
    ],
)
def test_a_slip_is_told_with_the_setting_that_may_be_meant_and_without_its_value(name: str, meant: str) -> None:
    assert ignored_variables({name: "hunter2"}) == [f"{name} is not a setting of Signet, did you mean {meant}?"]


def test_a_warning_names_ten_variables_in_their_order() -> None:
    environ = {f"SIGNET_QQQ{number:02}": "x" for number in range(12, 0, -1)}

    (why,) = read_configuration(environ, {}, search=False).warnings.values()

    told = [f"SIGNET_QQQ{number:02} is not a setting of Signet" for number in range(1, 11)]
    assert why.split("; ") == [*told, "and 2 more"]


# --- a token that others can read


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ('token = "a-token"', 0o644, "which has token"),
        ('token = "a-token"', 0o640, "which has token"),
        ('[settings.oj]\ntoken = "a-token"', 0o604, "which has oj_token"),
        ('token = "a-token"', 0o600, ""),
        ("port = 1", 0o644, ""),
        ('token = ""', 0o644, ""),
        ('token = " "\n[settings.oj]\ntoken = ""', 0o644, ""),
    ],
)
def test_a_token_in_a_file_that_others_can_read_is_worth_a_warning(
    text: str, mode: int, told: str, tmp_path: Path
) -> None:
    read(tmp_path, text)
    (tmp_path / "signet.toml").chmod(mode)

    warnings = read_configuration({}, {"config": str(tmp_path / "signet.toml")}).warnings

    assert told in warnings.get("file.shared", "")
    assert bool(told) == ("file.shared" in warnings)
    assert "a-token" not in str(warnings)
