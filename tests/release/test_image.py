"""The container image: built from deploy/Dockerfile without a registry, run by the commands of docs/deployment.md.

`make test-release` runs this: it takes minutes, and needs root.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from processes import ROOT, free_port

pytestmark = pytest.mark.timeout(1500)

PODMAN = str(ROOT / "scripts/podman.sh")
PAGE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"))["services"]
DOCKER = f"""\
#!/bin/sh
case $1 in build) exec {ROOT}/scripts/build_image.sh signet ;; *) exec {PODMAN} "$@" ;; esac
"""
"""A `docker` that needs no daemon and no registry."""
ENCODE = b'{"plantumlCode":"A -> B"}'
OWNER = f"signet-test-{os.getpid()}"


def podman(*words: str, check: bool = True) -> str:
    """Run podman to its end, and return its standard output."""
    done = subprocess.run([PODMAN, *words], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0 or not check, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the image by the first command of the page, and return the folder of the `docker` that did it."""
    folder = tmp_path_factory.mktemp("docker")
    (folder / "docker").write_text(DOCKER)
    (folder / "docker").chmod(0o755)
    build, *_ = commands()
    assert build == "docker build -f deploy/Dockerfile -t signet ."
    said = run_lines([build], folder, ROOT)
    assert "Successfully tagged" in said
    return folder


@pytest.fixture
def owned(docker: Path) -> Iterator[str]:
    """Return a name for containers and volumes of the image, which are removed afterwards."""
    assert docker.exists()
    yield OWNER
    for name in podman("ps", "--all", "--quiet", "--filter", f"name={OWNER}").split():
        podman("rm", "--force", "--time", "1", name, check=False)
    for name in podman("volume", "ls", "--quiet", "--filter", f"name={OWNER}").split():
        podman("volume", "rm", "--force", name, check=False)


def call(port: int, token: str) -> int:
    """Call a tool, and return the status."""
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = Request(f"http://127.0.0.1:{port}/api/tools/encodePlantUML", ENCODE, headers)
    try:
        with urlopen(request, timeout=60) as answer:
            assert json.load(answer)["success"] is True
            return int(answer.status)
    except HTTPError as error:
        return error.code


def wait_until_ready(port: int) -> None:
    """Wait until a server in a container is ready."""
    patience = ("--retry", "60", "--retry-all-errors", "--retry-delay", "1", "-o", "/dev/null")
    subprocess.run(["curl", "-sf", *patience, f"http://127.0.0.1:{port}/readyz"], check=True)


def commands() -> list[str]:
    """Return the commands of the page that build and run the image."""
    section = re.split(r"^## Containers$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]
    block = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[0]
    return [str(line) for line in block.splitlines()]


def run_lines(lines: list[str], docker: Path, cwd: Path) -> str:
    """Run commands in one shell that has a `docker`, and return what they print."""
    own = {**os.environ, "PATH": f"{docker}:{os.environ['PATH']}"}
    script = "\n".join(["set -eux", *lines])
    done = subprocess.run(["bash", "-c", script], cwd=cwd, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


def test_the_commands_of_the_page_run_and_stop_a_server(docker: Path, owned: str, tmp_path: Path) -> None:
    names = {"--name signet": f"--name {owned}", "stop signet": f"stop {owned}", "rm signet": f"rm {owned}"}
    names |= {"-v signet-tokens:": f"-v {owned}:", "127.0.0.1:8080": f"127.0.0.1:{free_port()}"}
    lines = [re.sub("|".join(names), lambda found: names[found[0]], line) for line in commands()[1:]]

    said = run_lines(lines, docker, tmp_path)

    assert [line.split()[1] for line in lines if line.startswith("docker ")] == ["run", "run", "stop"]
    assert '"success":true' in said
    assert podman("ps", "--all", "--quiet", "--filter", f"name={owned}") == ""


def test_the_image_runs_as_a_user_without_rights_and_refuses_to_start_without_a_token(owned: str) -> None:
    ended = subprocess.run([PODMAN, "run", "--name", owned, "signet"], capture_output=True, text=True, check=False)
    who = podman("run", "--rm", "--entrypoint", "id", "signet", "-G")

    assert ended.returncode == 2
    assert "set SIGNET_TOKEN" in ended.stderr
    assert who.split() == ["65532"]


def test_the_health_check_of_the_image_sees_a_server_that_is_ready(owned: str) -> None:
    port = free_port()
    podman("run", "-d", "--name", owned, "-p", f"127.0.0.1:{port}:8080", "-e", "SIGNET_TOKEN=a-token", "signet")
    wait_until_ready(port)

    podman("healthcheck", "run", owned)

    assert [call(port, "a-token"), call(port, "another")] == [200, 401]


def test_the_servers_of_compose_read_the_tokens_that_its_command_makes_and_revokes(owned: str, tmp_path: Path) -> None:
    """The volume, the flags and the restrictions are those of the compose file; the store is the server's own."""
    token, server, port = COMPOSE["token"], COMPOSE["signet1"], free_port()
    command = [word if not word.startswith("--store=") else "--store=memory:" for word in server["command"]]
    change = ("run", "--rm", "--entrypoint", token["entrypoint"][0], *restrictions(token, owned))
    made = podman(*change, "signet", *token["entrypoint"][1:], "new", "ci").split()[-1]

    published = ("-p", f"127.0.0.1:{port}:8080")
    podman("run", "-d", "--name", owned, *published, *restrictions(server, owned), "signet", *command)
    wait_until_ready(port)
    before = call(port, made)
    podman(*change, "signet", *token["entrypoint"][1:], "revoke", "ci")
    after = before
    while after == 200:
        # The server looks at the file once a second; a server that never does ends at the time limit of the test.
        after = call(port, made)

    assert (before, after) == (200, 401)
    log = podman("exec", owned, "head", "-n", "1", "/var/lib/signet/audit.jsonl")
    assert json.loads(log)["event"] == "started"


def restrictions(service: dict[str, Any], owned: str) -> list[str]:
    """Return the flags of `docker run` for what the compose file says of a service."""
    flags = ["--read-only"] if service["read_only"] else []
    flags += [word for path in service.get("tmpfs", ()) for word in ("--tmpfs", path)]
    flags += [word for name in service["cap_drop"] for word in ("--cap-drop", name)]
    flags += [word for option in service["security_opt"] for word in ("--security-opt", option.removesuffix(":true"))]
    flags += [word for name, value in service.get("environment", {}).items() for word in ("-e", f"{name}={value}")]
    return flags + [word for volume in service["volumes"] for word in ("-v", f"{owned}-{volume}")]


def test_the_image_serves_without_a_diagram_engine_and_its_page_tells_so(owned: str) -> None:
    engines = subprocess.run(
        [PODMAN, "run", "--rm", "--name", owned, "signet", "diagrams", "engines"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert engines.returncode == 1, engines.stdout
    assert "The image has no diagram engine" in PAGE
