"""gzip in steps: the output is that of the whole, and no step makes much of it."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signet.upstream.gunzip import Gunzip

MIB = 1_048_576


def unpacked(packed: bytes, chunk_bytes: int, limit: int = 16 * MIB) -> tuple[bytes, list[int], Gunzip]:
    """Unpack as the client does; return the output, the size of each step, and the decoder."""
    gunzip = Gunzip()
    body = bytearray()
    steps: list[int] = []
    for start in range(0, len(packed), chunk_bytes):
        gunzip.feed(packed[start : start + chunk_bytes])
        while True:
            output = gunzip.step(limit - len(body))
            steps.append(len(output))
            body += output
            if not gunzip.has_more or len(body) >= limit:
                break
        if len(body) >= limit:
            break
    return bytes(body), steps, gunzip


@given(st.lists(st.binary(max_size=2_000), max_size=4), st.integers(1, 50), st.integers(0, 9))
def test_any_members_are_unpacked_from_chunks_of_any_size(members: list[bytes], chunk_bytes: int, padding: int) -> None:
    packed = b"".join(map(gzip.compress, members)) + b"\0" * (padding if members else 0)

    body, _, gunzip = unpacked(packed, chunk_bytes)

    assert body == b"".join(members)
    assert gunzip.is_whole


def test_a_bomb_is_unpacked_in_steps_of_a_mebibyte_up_to_the_limit() -> None:
    body, steps, gunzip = unpacked(gzip.compress(b"\0" * (64 * MIB)), 65_536)

    assert len(body) == 16 * MIB
    assert max(steps) <= MIB
    assert not gunzip.is_whole


def test_many_empty_members_are_unpacked_in_several_steps() -> None:
    body, steps, gunzip = unpacked(gzip.compress(b"", mtime=0) * 3_000, 65_536)

    assert body == b""
    assert len(steps) > 5
    assert gunzip.is_whole


@pytest.mark.parametrize("chunk_bytes", [1, 2, 65_536])
@pytest.mark.parametrize("packed", [b"xx", zlib.compress(b"x"), b"\x1fx", b"\0" + gzip.compress(b"x", mtime=0)])
def test_what_is_no_gzip_is_told(packed: bytes, chunk_bytes: int) -> None:
    with pytest.raises(ValueError, match="not the gzip"):
        unpacked(packed, chunk_bytes)


no_member = st.just(b"\x1f") | st.tuples(st.sampled_from([b"x", b"\x1fx"]), st.binary(max_size=50)).map(b"".join)


@given(st.binary(min_size=1, max_size=200), no_member, st.integers(1, 50), st.integers(0, 9))
def test_what_follows_the_last_member_is_ignored(data: bytes, rest: bytes, chunk_bytes: int, padding: int) -> None:
    body, _, gunzip = unpacked(gzip.compress(data) + b"\0" * padding + rest, chunk_bytes)

    assert body == data
    assert gunzip.is_whole


@given(st.binary(min_size=1, max_size=200), st.integers(1, 8), st.integers(1, 50))
def test_a_wrong_checksum_or_length_is_told_as_damage(data: bytes, place: int, chunk_bytes: int) -> None:
    packed = bytearray(gzip.compress(data))
    packed[-place] ^= 1

    with pytest.raises(ValueError, match="cut off or damaged"):
        unpacked(bytes(packed), chunk_bytes)


@pytest.mark.parametrize("size", range(1, 21))
def test_what_is_cut_is_not_whole(size: int) -> None:
    _, _, gunzip = unpacked(gzip.compress(b"x", mtime=0)[:size], 7)

    assert not gunzip.is_whole
