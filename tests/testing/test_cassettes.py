"""Cassettes of a user's tests: recorded once from the upstream, replayed without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boj_harness import METADATA, BojHarness
from upstream_harness import DIRECT
from user_projects import counts, make_user_project, run_pytest

TESTS = f"""
import pytest


def test_one(signet_client, signet_cassette):
    assert signet_client.call("{METADATA}", db="FM01", lang="en")["db"] == "FM01"


class TestMore:
    def test_parity(self, signet_parity, signet_cassette):
        report = signet_parity(("{METADATA}", {{"db": "FM01", "lang": "en"}}), ("{METADATA}", {{"db": ""}}))
        assert [row.outcome for row in report.rows] == ["OK", "INVALID_INPUT"]


@pytest.mark.parametrize("door", ["stdio", "rest"])
def test_doors(signet_client, signet_cassette, door):
    assert signet_client(door).call("{METADATA}", db="FM01", lang="en")["db"] == "FM01"
"""
FAILING = f"""
from signet.testing import assert_contract


def test_one(signet_client, signet_cassette):
    assert signet_client.call("{METADATA}", db="FM01", lang="en") is None


def test_two(signet_client, signet_cassette):
    signet_client.list_tools()


def test_three():
    assert_contract("boj_get_metadata", arguments={{"db": "FM01"}})
"""


SERVICE = '''
import os

import signet

bank = signet.Upstream(os.environ["BANK"])


@signet.tool(example={"db": "FM01"})
async def first_series(db: str) -> str:
    """Return the code of the first series of a database."""
    answer = await bank.get(f"/api/v1/getMetadata?db={db}&lang=en")
    return next(row["SERIES_CODE"] for row in answer.json()["RESULTSET"] if row["SERIES_CODE"])
'''
OWN_SERVICE = """
def test_one(signet_client, signet_cassette):
    assert signet_client.call("first_series", db="FM01") == {"result": "STRDCLUCON"}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_user_project(tmp_path, "", TESTS, toolsets='["boj"]')


def test_a_cassette_is_recorded_once_and_replayed_without_the_upstream(project: Path, bank: BojHarness) -> None:
    env = {**DIRECT, "BOJ_BASE_URL": bank.url}
    recorded = run_pytest(project, "-q", **env)
    asked = len(bank.targets())
    folders = sorted(path.relative_to(project).as_posix() for path in project.glob("cassettes/*/*"))
    replayed = run_pytest(project, "-q", CI="true", BOJ_BASE_URL="http://127.0.0.1:1")

    assert counts(recorded) == {"passed": 4}, recorded.stdout + recorded.stderr
    assert asked == 4, "one request for each cassette"
    assert folders == [
        "cassettes/test_tools/TestMore.test_parity",
        "cassettes/test_tools/test_doors[rest]",
        "cassettes/test_tools/test_doors[stdio]",
        "cassettes/test_tools/test_one",
    ]
    assert counts(replayed) == {"passed": 4}, replayed.stdout + replayed.stderr
    assert len(bank.targets()) == asked


def test_a_test_that_fails_or_calls_nothing_keeps_no_recording(project: Path, bank: BojHarness) -> None:
    (project / "test_tools.py").write_text(FAILING)

    done = run_pytest(project, "-q", **DIRECT, BOJ_BASE_URL=bank.url)
    in_ci = run_pytest(project, "-q", CI="true")

    for one in (done, in_ci):
        assert counts(one) == {"failed": 1, "passed": 2}, one.stdout
    assert "there is no recording in cassettes/test_tools/test_one" in in_ci.stdout
    assert list(project.glob("cassettes/*/*")) == []
    assert list(project.glob("cassettes/*/.*")) == []


def test_all_records_anew_and_none_never(project: Path, bank: BojHarness) -> None:
    env = {**DIRECT, "BOJ_BASE_URL": bank.url}
    one = ("-q", "-k", "test_one")
    missing = run_pytest(project, *one, "--signet-record=none", **env)
    in_ci = run_pytest(project, *one, CI="true", **env)
    run_pytest(project, *one, **env)
    manifest = project / "cassettes/test_tools/test_one/recording.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "signet": "0.0.0"}))
    again = run_pytest(project, *one, "--signet-record=all", **env)

    for done in (missing, in_ci):
        assert counts(done) == {"failed": 1}, done.stdout
        assert "signet/testing/" not in done.stdout, "the frames of the plugin are hidden"
        assert "there is no recording in cassettes/test_tools/test_one" in done.stdout
        assert "pytest --signet-record=once" in done.stdout
    assert counts(again) == {"passed": 1}, again.stdout
    assert json.loads(manifest.read_text())["signet"] != "0.0.0"
    assert len(bank.targets()) == 2


def test_a_service_of_ones_own_is_recorded_and_replayed(tmp_path: Path, bank: BojHarness) -> None:
    project = make_user_project(tmp_path, SERVICE, OWN_SERVICE)

    recorded = run_pytest(project, "-q", "--signet-door=stdio", **DIRECT, BANK=bank.url)
    asked = len(bank.targets())
    replayed = run_pytest(project, "-q", CI="true", BANK=bank.url)

    assert (counts(recorded), asked) == ({"passed": 1}, 1), recorded.stdout + recorded.stderr
    assert (counts(replayed), len(bank.targets())) == ({"passed": 1}, 1), replayed.stdout + replayed.stderr
