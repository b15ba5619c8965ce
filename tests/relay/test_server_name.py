"""Names of servers that were given none: the package, the file, the image or the host, whatever starts it."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.settings.server_name import default_name

NAMES = {
    # Node
    "npx -y @modelcontextprotocol/server-everything@2026.1.1 stdio": "server-everything",
    "npx -y --package=@a/b@1 b-server": "b-server",
    "npx -p @a/b -y b-server --port 1": "b-server",
    "npx --yes -- mcp-files /srv": "mcp-files",
    "npx -y tsx src/weather.ts": "weather",
    "npx -y mcp-remote https://mcp.linear.app/sse": "mcp-linear-app",
    "npx github:someone/weather-mcp#v2": "weather-mcp",
    "cmd /c npx -y @a/weather": "weather",
    "npm exec --yes -- @a/weather@2": "weather",
    "npm --prefix /srv/weather run start": "weather",
    "npm run weather": "weather",
    "pnpm dlx @a/weather": "weather",
    "bunx @a/weather@latest": "weather",
    "bun run weather.ts": "weather",
    "bun x weather": "weather",
    "node dist/weather.js": "weather",
    "node dist/index.js": "dist-index",
    "node build/Index.js": "build-index",
    "node index.js": "index",
    "node /srv/weather/dist/index.js /data": "weather",
    "node --require ./hook.js --import tsx ../weather/build/index.mjs": "weather",
    "node node_modules/@a/weather/dist/index.js": "weather",
    "node C:\\\\srv\\\\weather\\\\dist\\\\index.js": "weather",
    "deno run -A --allow-net=a weather.ts": "weather",
    "deno run --config deno.json npm:@a/weather@1": "weather",
    "deno run -A jsr:@a/weather/mod.ts": "weather",
    # Python
    "uvx mcp-server-time==1.2 --local-timezone UTC": "mcp-server-time",
    "uvx --from git+https://example.com/a.git weather": "weather",
    "uvx --python 3.12 --with a 'weather[all]>=2'": "weather",
    "uv run weather.py": "weather",
    "uv run main.py": "main",
    "uv --directory /x run weather.py": "weather",
    "uv --directory /srv/weather run main.py": "weather",
    "uv --directory=/srv/weather run -m main": "weather",
    "uv run -m main": "main",
    "uv run --project /srv/a --with b python -m weather.server": "weather-server",
    "uv run --with 'mcp[cli]' mcp run /srv/weather.py:app": "weather",
    "uv run --with fastmcp fastmcp run weather.py": "weather",
    "uv tool run --from a weather": "weather",
    "pipx run --spec git+https://example.com/a.git weather": "weather",
    "pipx run weather==1.0": "weather",
    "/usr/bin/python3.11 -m weather.server": "weather-server",
    "python -X utf8 -u weather.py": "weather",
    "python3 src/weather/__main__.py": "weather",
    "poetry run -C /srv/a python weather.py": "weather",
    "conda run -n env --no-capture-output python weather.py": "weather",
    "pdm run --project /srv/weather start": "weather",
    "python": "python",
    # Containers
    "docker run -i --rm -e TOKEN image": "image",
    "docker run --rm -it -e TOKEN -v /a:/b --mount type=bind,src=/a,dst=/b ghcr.io/a/weather:1.2 --port 1": "weather",
    "docker run -i --name one --env-file e -p8080:80 localhost:5000/a/weather@sha256:0123": "weather",
    "docker --context far run --network=host --init -d weather:latest": "weather",
    "docker exec -i weather node dist/index.js": "weather",
    "docker compose -f a.yml run --rm -T weather": "weather",
    "podman run --rm -i --userns keep-id docker.io/a/weather": "weather",
    # Shells and the environment
    "env TOKEN=a B=c npx -y @a/weather": "weather",
    "env -u HOME -C /srv -- uvx weather": "weather",
    "sh -c 'exec npx -y @a/weather --quiet'": "weather",
    "bash -lc 'cd /srv/weather && TOKEN=$T node dist/index.js 2>>log'": "weather",
    "sh -c 'weather --x | tee log'": "weather",
    'sh -c "unclosed \'quote"': "sh",
    "sh serve.sh": "serve",
    # Others
    "java -cp a.jar -jar weather-1.jar": "weather-1",
    "go run ./cmd/weather": "weather",
    "cargo run --release --bin weather -- --stdio": "weather",
    "cargo run": "cargo",
    "nice -n 5 xvfb-run -a stdbuf -oL node /srv/weather/index.js": "weather",
    "'/opt/bin/My Server'": "my-server",
    "/srv/weather/bin/weather-mcp": "weather-mcp",
}


@pytest.mark.parametrize("command", NAMES)
def test_a_server_is_named_by_its_package_its_file_or_its_image(command: str) -> None:
    assert default_name(shlex.split(command.replace("\\\\", "\\\\\\\\"))) == NAMES[command]


@pytest.mark.parametrize(
    ("url", "name"), [("https://api.example:8443/mcp", "api-example"), ("https://[::", "server"), ("", "server")]
)
def test_a_remote_server_is_named_by_its_host(url: str, name: str) -> None:
    assert default_name((), url) == name


LAUNCHING = st.sampled_from(["npx", "uv", "run", "docker", "sh", "-c", "env", "-m", "python", "--", "-", "", "a/", "="])


@given(st.lists(LAUNCHING | st.text(max_size=5), min_size=1))
def test_every_command_has_a_name(command: list[str]) -> None:
    assert 0 < len(default_name(command)) <= 60
