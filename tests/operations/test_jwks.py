"""The keys of an issuer are kept, renewed and given up by the clock, which these tests turn themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from authorization_server import SigningKey, new_key
from signet.operations.access.jwks import Jwks
from signet.operations.access.signing_keys import read_keys

OLD, NEW = new_key("ES256", "old"), new_key("ES256", "new")


class Played:
    """An issuer whose answers a test decides, a clock that a test turns, and the keys that are kept of it."""

    def __init__(self, *keys: SigningKey) -> None:
        self.now = 1000.0
        self.answer: list[SigningKey] | Exception = list(keys)
        self.asked = 0
        self.warnings: list[str] = []
        self.gate: asyncio.Event | None = None
        self.jwks = Jwks(self.fetch, self.warnings.append, lambda: self.now)

    async def fetch(self) -> list[Any]:
        self.asked += 1
        answer = self.answer
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(answer, Exception):
            raise answer
        return [key.jwk() for key in answer]

    def ids(self) -> set[str] | None:
        keys = self.jwks.current()
        return None if keys is None else set(keys.ids)

    async def settle(self) -> None:
        """Let what runs in the background end."""
        for _ in range(5):
            await asyncio.sleep(0)

    async def seek(self, kid: str) -> list[str] | None:
        found = await self.jwks.seek("ES256", kid)
        return None if found is None else [key.kid for key in found]


def played(act: Callable[[Played], Awaitable[None]], *keys: SigningKey) -> None:
    async def play() -> None:
        await act(Played(*keys))

    asyncio.run(play())


def test_keys_are_fetched_once_and_used_for_five_minutes() -> None:
    async def act(issuer: Played) -> None:
        assert issuer.ids() is None
        await issuer.jwks.renewed()
        issuer.now += 300

        assert issuer.ids() == {"old"}
        await issuer.settle()
        assert issuer.asked == 1

    played(act, OLD)


def test_then_they_are_renewed_in_the_background() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        issuer.answer = [NEW]
        issuer.now += 301

        assert issuer.ids() == {"old"}
        await issuer.settle()
        assert (issuer.ids(), issuer.asked) == ({"new"}, 2)

    played(act, OLD)


def test_keys_of_ten_minutes_are_renewed_before_they_are_used() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        issuer.answer = [NEW]
        issuer.now += 601

        assert issuer.ids() is None
        renewed = await issuer.jwks.renewed()
        assert renewed is not None
        assert renewed.ids == {"new"}

    played(act, OLD)


def test_while_the_issuer_is_away_old_keys_are_used_for_an_hour_and_no_longer() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        issuer.answer = ConnectionRefusedError("away")
        issuer.now += 601
        await issuer.jwks.renewed()

        assert issuer.ids() == {"old"}
        issuer.now = 1000 + 3600
        assert issuer.ids() == {"old"}
        issuer.now = 1000 + 3601
        assert issuer.ids() is None
        assert await issuer.jwks.renewed() is None
        assert issuer.warnings == ["away"]

    played(act, OLD)


def test_an_issuer_that_is_away_is_asked_after_growing_pauses() -> None:
    async def act(issuer: Played) -> None:
        issuer.answer = ValueError("html")
        pauses = []
        for _ in range(9):
            await issuer.jwks.renewed()
            pauses.append(issuer.jwks.wait_s())
            asked = issuer.asked
            assert await issuer.jwks.renewed() is None
            assert issuer.asked == asked
            issuer.now += pauses[-1]
        issuer.answer = [NEW]

        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        assert await issuer.jwks.renewed() is not None
        assert issuer.warnings == ["html"]

    played(act)


def test_all_who_wait_share_one_fetch_and_one_who_leaves_does_not_stop_it() -> None:
    async def act(issuer: Played) -> None:
        issuer.gate = asyncio.Event()
        waiting = [asyncio.ensure_future(issuer.jwks.renewed()) for _ in range(10)]
        await issuer.settle()
        waiting[0].cancel()
        await issuer.settle()
        issuer.gate.set()
        found = await asyncio.gather(*waiting[1:])

        assert {keys.ids for keys in found if keys is not None} == {frozenset({"old"})}
        assert issuer.asked == 1

    played(act, OLD)


def test_unknown_keys_are_sought_once_in_three_seconds() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()

        assert [await issuer.seek(f"stranger {number}") for number in range(5)] == [[]] * 5
        assert issuer.asked == 2
        issuer.now += 3
        assert await issuer.seek("stranger") == []
        assert issuer.asked == 3

    played(act, OLD)


def test_strangers_delay_a_new_key_by_seconds() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        for number in range(1200):
            issuer.now += 0.1
            assert await issuer.seek(f"stranger {number}") == []
        issuer.answer = [OLD, NEW]
        for number in range(60):
            issuer.now += 0.1
            await issuer.seek(f"stranger {number + 1200}")

        assert await issuer.seek("new") == ["new"]
        # Ten at first, and then ten a minute.
        assert 25 <= issuer.asked <= 35

    played(act, OLD)


def test_another_key_under_a_known_id_is_found() -> None:
    async def act(issuer: Played) -> None:
        tried = await issuer.jwks.renewed()
        assert issuer.jwks.may_doubt("old")
        assert await issuer.jwks.seek("ES256", "old", tried) == []
        assert not issuer.jwks.may_doubt("old")
        assert await issuer.seek("stranger") == []
        assert issuer.asked == 3
        issuer.answer = [new_key("ES256", "old")]
        issuer.now += 31
        assert issuer.jwks.may_doubt("old")

        found = await issuer.jwks.seek("ES256", "old", tried)

        assert found is not None
        assert tried is not None
        assert [key.kid for key in found] == ["old"]
        assert found != list(tried.keys)

    played(act, OLD)


@pytest.mark.parametrize("answer", [TypeError("secret"), RecursionError("secret"), [object()]])
def test_whatever_goes_wrong_with_the_keys_is_a_failure_with_a_pause(answer: Any) -> None:
    async def act(issuer: Played) -> None:
        issuer.answer = answer
        pauses = []
        for _ in range(3):
            assert await issuer.jwks.renewed() is None
            pauses.append(issuer.jwks.wait_s())
            issuer.now += pauses[-1]

        assert pauses == [1, 2, 4]
        assert len(issuer.warnings) == 1
        assert "secret" not in issuer.warnings[0]

    played(act)


def test_keys_that_cannot_be_read_are_a_failure_with_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(issuer: Played) -> None:
        monkeypatch.setattr("signet.operations.access.jwks.read_keys", lambda _: 1 // 0)

        assert await issuer.jwks.renewed() is None
        assert await issuer.jwks.renewed() is None
        assert (issuer.asked, issuer.jwks.wait_s()) == (1, 1)

    played(act, OLD)


def test_a_search_that_found_a_key_does_not_delay_the_next() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        for number in range(5):
            issuer.answer = [new_key("ES256", f"key {number}")]

            assert await issuer.seek(f"key {number}") == [f"key {number}"]

    played(act, OLD)


def test_a_token_of_a_retired_key_is_no_reason_to_ask() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        issuer.answer = [NEW]
        assert await issuer.seek("new") == ["new"]
        asked = issuer.asked

        assert await issuer.seek("old") == []
        assert issuer.asked == asked

    played(act, OLD)


def test_a_search_that_comes_during_a_fetch_asks_again_if_that_has_not_brought_the_key() -> None:
    """The fetch may have begun before the key was published."""

    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        issuer.now += 301
        issuer.gate = asyncio.Event()
        issuer.ids()
        await issuer.settle()
        issuer.answer = [OLD, NEW]
        search = asyncio.ensure_future(issuer.seek("new"))
        await issuer.settle()
        issuer.gate.set()

        assert await search == ["new"]
        assert issuer.asked == 3

    played(act, OLD)


def test_whether_a_key_is_there_is_not_known_while_the_issuer_is_away() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        issuer.answer = ConnectionRefusedError("away")

        assert await issuer.seek("new") is None
        assert await issuer.seek("newer") is None
        issuer.answer = [NEW]
        issuer.now += 1
        assert await issuer.seek("new") == ["new"]

    played(act, OLD)


def test_the_same_keys_stay_the_same_value() -> None:
    async def act(issuer: Played) -> None:
        first = await issuer.jwks.renewed()
        issuer.now += 601

        assert await issuer.jwks.renewed() is first

    played(act, OLD)


def test_an_operator_can_have_the_keys_fetched_at_once() -> None:
    async def act(issuer: Played) -> None:
        await issuer.jwks.renewed()
        issuer.answer = [NEW]
        issuer.jwks.reload()
        await issuer.settle()

        assert issuer.ids() == {"new"}

    played(act, OLD)


def test_of_what_is_published_only_keys_for_signatures_are_used() -> None:
    rsa, curve = new_key("RS256", "rsa").jwk(), OLD.jwk()
    useless: list[Any] = [
        None,
        "text",
        {},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "a"},
        {"kty": ["RSA"], "kid": "b"},
        {**rsa, "use": "enc"},
        {**rsa, "key_ops": ["encrypt"]},
        {**rsa, "alg": "HS256"},
        {**rsa, "alg": "ES256"},
        {**rsa, "n": rsa["n"][:100]},
        {**rsa, "n": "A" * 100_000},
        {**rsa, "e": "A" * 500},
        {**rsa, "kid": 7},
        {**rsa, "use": ["sig"]},
        {**rsa, "use": {}},
        {**rsa, "alg": ["RS256"]},
        {**rsa, "key_ops": "verify"},
        {**rsa, "n": ""},
        {**rsa, "n": "\ud800"},
        {**rsa, "e": "AA"},
        {**curve, "crv": ["P-256"]},
        {**curve, "x": "\ud800"},
        {**curve, "crv": "P-521"},
        {**curve, "crv": "secp256k1"},
        {**curve, "x": curve["y"]},
    ]

    assert read_keys(useless).keys == ()
    assert {key.kid for key in read_keys([*useless, rsa, curve]).keys} == {"rsa", "old"}
    assert len(read_keys([curve] * 1000).keys) == 100


def test_a_key_fits_the_algorithms_of_its_kind_alone() -> None:
    rsa, curve = new_key("RS256", "rsa").jwk(), OLD.jwk()
    keys = read_keys([{name: value for name, value in jwk.items() if name != "alg"} for jwk in (rsa, curve)])

    assert [key.kid for key in keys.find("PS384", None)] == ["rsa"]
    assert [key.kid for key in keys.find("ES256", None)] == ["old"]
    assert keys.find("ES256", "rsa") == keys.find("HS256", None) == keys.find("none", None) == []


def test_a_private_part_that_is_published_by_mistake_changes_nothing() -> None:
    jwk = {**OLD.jwk(), "d": "AAAA"}

    assert [key.kid for key in read_keys([jwk]).keys] == ["old"]
