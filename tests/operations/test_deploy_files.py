"""The files of deploy/: each is read by the program that it is for, and its commands are commands of this version."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from processes import ROOT, SIGNET, clean_env
from signet.commands.cli import parser
from signet.settings.reading import read_configuration

DEPLOY = ROOT / "deploy"
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


def run(*command: str, cwd: Path = DEPLOY, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    own = {**clean_env(), "PATH": PATH, **env}
    return subprocess.run(command, cwd=cwd, env=own, capture_output=True, text=True, check=False)


def kubernetes() -> dict[str, dict[str, Any]]:
    """Return the manifests by their kinds."""
    manifests = yaml.safe_load_all((DEPLOY / "kubernetes/signet.yaml").read_text(encoding="utf-8"))
    return {manifest["kind"]: manifest for manifest in manifests}


def compose() -> dict[str, Any]:
    """Return the compose file."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def unit() -> str:
    """Return the command of the systemd unit."""
    text = (DEPLOY / "systemd/signet.service").read_text(encoding="utf-8")
    found = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert found is not None
    return found[1]


def test_haproxy_takes_its_file() -> None:
    addresses = {f"SIGNET_{number}": f"127.0.0.1:{number}" for number in (1, 2, 3)}

    ended = run("haproxy", "-c", "-f", "haproxy.cfg", SIGNET_BIND="127.0.0.1:4", **addresses)

    assert ended.returncode == 0, ended.stderr
    assert "WARNING" not in ended.stderr


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    page = DEPLOY / "nginx.conf"
    whole = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; include {page}; }}"
    (tmp_path / "nginx.conf").write_text(whole)

    ended = run("nginx", "-t", "-q", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"))

    assert ended.returncode == 0, ended.stderr


def test_systemd_takes_its_units_and_they_are_hardened(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "systemd/signet.socket", tmp_path)
    text = (DEPLOY / "systemd/signet.service").read_text(encoding="utf-8")
    (tmp_path / "signet.service").write_text(text.replace("/usr/local/bin/signet", SIGNET))

    ended = run("systemd-analyze", "verify", "./signet.service", "./signet.socket", cwd=tmp_path)
    exposure = run("systemd-analyze", "security", "--offline=true", "./signet.service", cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    level = re.search(r"exposure level for signet.service: ([\d.]+)", exposure.stdout)
    assert level is not None
    assert float(level[1]) < 2.0


def test_the_page_installs_the_program_that_the_unit_starts_before_it_checks_the_unit() -> None:
    page = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    before, _, _ = page.partition("$ systemd-analyze verify deploy/systemd/")

    install = re.findall(r"^```sh\n(.*?)^```", before, re.MULTILINE | re.DOTALL)[-1]

    venv, requirements, package, link = [shlex.split(line) for line in install.splitlines()]
    folder = venv[-1]
    assert venv[1:3] == ["-m", "venv"]
    assert [requirements[0], package[0]] == [f"{folder}/bin/pip"] * 2
    assert link == ["ln", "-s", f"{folder}/bin/signet", shlex.split(unit())[0]]
    assert [word for word in requirements if word.endswith(".txt") and not (ROOT / word).exists()] == []


def test_the_file_of_tokens_is_no_credential_of_systemd() -> None:
    """Systemd copies a credential at the start: a revoked token would be valid until the next one."""
    texts = [(DEPLOY / "systemd/signet.service").read_text(encoding="utf-8")]
    texts.append((ROOT / "docs/deployment.md").read_text(encoding="utf-8"))

    assert [re.findall(r"LoadCredential=(\w[\w-]*):", text) for text in texts] == [["audit-key"]] * 2


@pytest.mark.parametrize(
    "command",
    [
        shlex.split(unit())[1:],
        compose()["services"]["signet1"]["command"],
        kubernetes()["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"],
        re.findall(r'"([^"]*)"', re.findall(r"^CMD (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)[-1]),
    ],
    ids=["systemd", "compose", "kubernetes", "docker"],
)
def test_the_flags_are_those_of_this_version(command: list[str]) -> None:
    assert parser(command).parse_args(command).run is not None


def test_the_settings_of_the_cluster_are_read(tmp_path: Path) -> None:
    (tmp_path / "signet.toml").write_text(kubernetes()["ConfigMap"]["data"]["signet.toml"])

    configuration = read_configuration({}, {"config": str(tmp_path / "signet.toml")})

    assert configuration.settings.tokens_file == "/etc/signet-tokens/tokens"
    assert configuration.settings.drain_s == 5
    assert configuration.warnings == {}


def test_probes_name_a_host_that_the_server_answers_to() -> None:
    [container] = kubernetes()["Deployment"]["spec"]["template"]["spec"]["containers"]

    for probe in ("livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["httpHeaders"] == [{"name": "Host", "value": "localhost"}]


def test_what_the_image_copies_is_there() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    ]

    assert [word for word in copied if not (ROOT / word).exists()] == []
