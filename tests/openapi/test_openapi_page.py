"""The page on OpenAPI documents says what is so: its document is served, and its commands do what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from commands_in_process import signet_here
from processes import ROOT, clean_env
from signet.openapi.document import MAX_BYTES
from signet.openapi.selection import MAX_OPERATIONS

from .documents import echo, written

PAGE = (ROOT / "docs/openapi.md").read_text(encoding="utf-8")
DOCUMENT = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
COMMANDS = [
    shlex.split(line)[1:] for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
]


def test_the_commands_of_the_page_work_on_its_document(tmp_path: Path) -> None:
    written(tmp_path, DOCUMENT, "pets.yaml")
    with echo() as service:
        env = {"PETS_BASE_URL": f"{service.url}/v1", "PETS_API_KEY": "k", "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = [signet_here(tmp_path, *one, environ=clean_env(env)) for one in COMMANDS if one[0] != "serve"]
        (request,) = service.received

    assert [one[0] for one in COMMANDS] == ["tools", "call", "serve", "tools"]
    assert all(b"getPet" in one.stdout for one in (done[0], done[2]))
    shown = re.search(r"`GET https://pets\.example(\S+)`", PAGE)
    assert shown is not None
    assert (request.target, request.headers["x-key"]) == (shown[1], "k")


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert f"more than {MAX_OPERATIONS} operations" in PAGE
    assert f"at most {MAX_BYTES // 1024**2} MB" in PAGE
