"""AACM's codec: decoding returns the encoded frame, and rejects any other bytes without an exception."""

from __future__ import annotations

import os
import random
import struct
import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing.fields import ipv4
from hostagent import registry
from hostagent.control import authentication
from hostagent.protocols.aacm import frames as aacm_frames
from hostagent.protocols.aacm.frames import Flag, Frame, Rejection, Report, Sighting
from hostagent.protocols.labelling import frames as labelling_frames

KEY = b"a shared key"
FRAME = Frame(Flag.CONFIG, 1, 7, 3, 0x0100, (1, 2), (4, 4), b"data")


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    sizes = draw(st.lists(st.integers(2, 32), min_size=1, max_size=6).map(tuple).filter(ipv4.usable_radices))
    place = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    kind = draw(st.sampled_from(sorted(aacm_frames.KINDS)))
    address = draw(place if kind == Flag.CONFIG else st.none() | place)
    epoch, sequence, server = (draw(st.integers(0, (1 << bits) - 1)) for bits in (16, 16, 48))
    port, data = draw(st.integers(1, 2 * len(sizes))), draw(st.binary(max_size=40))
    return Frame(kind, port, epoch, sequence, server, address, sizes, data)


@given(frames(), st.none() | st.binary(min_size=1, max_size=40), st.binary(max_size=30))
def test_frames_are_decoded_as_encoded_with_and_without_padding(
    frame: Frame, key: bytes | None, padding: bytes
) -> None:
    data = aacm_frames.encode(frame, key)
    assert aacm_frames.decode(data, key) == frame
    assert aacm_frames.decode(data + padding, key) == frame
    assert zlib.crc32(data[:-4]) == struct.unpack(">I", data[-4:])[0]


@given(frames(), st.data())
def test_frames_with_a_changed_bit_or_shortened_are_rejected(frame: Frame, data: st.DataObject) -> None:
    good = aacm_frames.encode(frame, KEY)
    assert isinstance(aacm_frames.decode(good[: data.draw(st.integers(0, len(good) - 1))], KEY), Rejection)
    changed = bytearray(good)
    changed[data.draw(st.integers(0, len(good) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert isinstance(aacm_frames.decode(bytes(changed), KEY), Rejection)


def resealed(data: bytes, at: int, value: int) -> bytes:
    """One byte changed, with a correct checksum: what an attacker without the key can send."""
    body = bytearray(data[:-4])
    body[at] = value
    return bytes(body) + struct.pack(">I", zlib.crc32(body))


def test_frames_cannot_be_forged_without_the_key() -> None:
    good = aacm_frames.encode(FRAME, KEY)
    for at in range(len(good) - 4):
        forged = resealed(good, at, good[at] ^ 1)
        assert aacm_frames.decode(forged, KEY) in (Rejection.KEY, Rejection.LENGTH, Rejection.CHECKSUM)
    assert aacm_frames.decode(aacm_frames.encode(FRAME), KEY) is Rejection.KEY
    assert aacm_frames.decode(aacm_frames.encode(FRAME, b"another"), KEY) is Rejection.KEY


def test_a_tag_of_one_protocol_is_invalid_in_another() -> None:
    body = aacm_frames.encode(FRAME)[: -authentication.MIN_OVERHEAD]
    assert aacm_frames.decode(authentication.authenticate(body, aacm_frames.ETHERTYPE, KEY), KEY) == FRAME
    assert (
        aacm_frames.decode(authentication.authenticate(body, labelling_frames.ETHERTYPE, KEY), KEY)
        is Rejection.KEY
    )
    ethertypes = {protocol.ethertype for protocol in registry.known().values()}
    assert len(ethertypes) == len(registry.known()) >= 4


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (0, 0x80, Rejection.FLAGS),  # no Alt in an odd epoch
        (0, 0x40, Rejection.FLAGS),  # nothing at all
        (0, 0xC1, Rejection.FLAGS),  # Config and Combine
        (1, 0, Rejection.PORT),
        (1, 5, Rejection.PORT),
        (15, 0, Rejection.ADDRESS),  # no address in a Config
        (15, 0x23, Rejection.ADDRESS),  # the flag says six dimensions
        (15, 0x1A, Rejection.ADDRESS),  # one dimension, slice 6 not clean
        (17, 1, Rejection.SIZES),
        (17, 33, Rejection.SIZES),
    ],
)
def test_invalid_fields_are_named(at: int, value: int, why: Rejection) -> None:
    assert aacm_frames.decode(resealed(aacm_frames.encode(FRAME), at, value)) is why


def test_an_address_outside_the_torus_is_refused() -> None:
    frame = Frame(Flag.CONFIG, 1, 0, 0, 1, (1, 3), (4, 3))
    assert aacm_frames.decode(aacm_frames.encode(frame)) is Rejection.ADDRESS


places = st.none() | st.lists(st.integers(0, 7), min_size=1, max_size=6).map(tuple)
sightings = st.builds(Sighting, st.integers(0, 255), st.integers(0, 2**48 - 1), st.integers(0, 255), places)


reports = st.builds(
    Report, st.integers(0, 2**48 - 1), places, st.booleans(), st.lists(sightings, max_size=12).map(tuple)
)


@given(reports)
def test_reports_are_decoded_as_encoded(report: Report) -> None:
    assert Report.decode(report.encode()) == report
    assert Report.decode(report.encode()[:-1]) is None


@given(reports.map(Report.encode) | st.binary(max_size=100), st.integers(min_value=0), st.binary(max_size=3))
def test_any_bytes_are_a_report_or_none(data: bytes, place: int, written: bytes) -> None:
    """Reports with some bytes overwritten reach the decoder's code after the length checks."""
    at = place % (len(data) + 1)
    damaged = (data[:at] + written + data[at + len(written) :])[: len(data)]
    report = Report.decode(damaged)
    if report is not None:
        assert len(report.encode()) == len(damaged)
        assert Report.decode(report.encode()) == report


def test_random_and_mutated_frames() -> None:
    """Mutated frames have a correct checksum, so that they reach the checks after it.  A million of them
    with DCNLAB_CATALOGUE=all."""
    rng, total = random.Random(4), 1_000_000 if os.environ.get("DCNLAB_CATALOGUE") == "all" else 200_000
    good = [
        aacm_frames.encode(Frame(kind, 1, 6, 3, 0x0100, (1, 2, 0), (4, 5, 2), bytes(12)), key)
        for kind in sorted(aacm_frames.KINDS)
        for key in (None, KEY)
    ]
    outcomes: Counter[object] = Counter()
    for number in range(total):
        if number % 4:
            data = rng.randbytes(rng.randrange(64))
        else:
            mutant = bytearray(good[number // 4 % len(good)][:-4])
            mutant[rng.randrange(len(mutant))] = rng.randrange(256)
            body = bytes(mutant)
            data = body + zlib.crc32(body).to_bytes(4, "big")
        result = aacm_frames.decode(data, KEY if number & 8 else None)
        outcomes[result if isinstance(result, Rejection) else "a frame"] += 1
    assert outcomes.total() == total
    assert {*Rejection, "a frame"} == set(outcomes)
