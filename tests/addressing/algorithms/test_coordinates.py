"""CLOT's addresses: encoding and decoding over the whole valid space, and errors for everything else."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addressing import registry as schemes
from addressing.fields import ipv4
from addressing.scheme import path
from topos.registry import fabric

PLACES = st.lists(st.integers(0, 31), min_size=1, max_size=6).map(tuple)


def by_the_figure(place: tuple[int, ...]) -> str:
    """The address as bits, as in the paper's figure: six slices of five bits, then the flag."""
    slices = [f"{value:05b}" for value in place]
    if len(place) < 6:
        slices += ["00000"] * (5 - len(place)) + [f"{len(place):03b}00"]
    return "".join(slices) + ("11" if len(place) == 6 else "10")


def usable(address: ipaddress.IPv4Address) -> bool:
    """True for addresses that a Linux host can have: no loopback, multicast or broadcast address."""
    return not (address.is_loopback or address.is_multicast or int(address) == 0xFFFFFFFF)


@given(PLACES)
def test_coordinates_are_decoded_as_encoded_unless_no_host_can_use_the_address(place: tuple[int, ...]) -> None:
    written = ipaddress.IPv4Address(int(by_the_figure(place), 2))
    if usable(written):
        assert ipv4.from_coordinates(place) == int(written)
        assert ipv4.to_coordinates(int(written)) == place
    else:
        with pytest.raises(ipv4.AddressError, match=rf"is {written}, in (127\.0\.0\.0/8|224\.0\.0\.0/4)"):
            ipv4.from_coordinates(place)


@given(st.integers(0, (1 << 32) - 1))
def test_any_number_is_an_address_of_coordinates_or_refused(number: int) -> None:
    refusal = ""
    try:
        place = ipv4.to_coordinates(number)
    except ipv4.AddressError as error:
        refusal = str(error)
    if refusal:
        assert ipv4.text(number) in refusal
        assert "\n" not in refusal
    else:
        assert int(by_the_figure(place), 2) == number
        assert usable(ipaddress.IPv4Address(number))


def test_valid_last_bytes_are_those_of_one_to_six_dimensions() -> None:
    """In 8.0.0.x the five bits of the fifth slice are zero; the sixth slice and the flag vary."""
    valid = {}
    for last in range(128):
        try:
            valid[last] = len(ipv4.to_coordinates(8 << 24 | last))
        except ipv4.AddressError:
            continue
    flagged_full = {value << 2 | 0b11: 6 for value in range(32)}
    partial = {count << 4 | 0b10: count for count in range(1, 6)}
    assert valid == flagged_full | partial


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((), "0 dimensions"),
        ((1,) * 7, "7 dimensions"),
        ((32, 0), "coordinate 32 does not fit"),
        ((-1, 0), "coordinate -1 does not fit"),
        ((15, 31, 0), "127.0.0.0/8 (loopback)"),
        ((28, 0), "224.0.0.0/4 (multicast)"),
        ((31,) * 6, "no host can use"),
    ],
)
def test_coordinates_without_an_address_are_named(place: tuple[int, ...], message: str) -> None:
    with pytest.raises(ipv4.AddressError) as error:
        ipv4.from_coordinates(place)
    assert message in str(error.value)


def test_labels_that_are_no_address_of_a_host_serve_offline_and_are_refused_in_labs() -> None:
    scheme = schemes.bind("pow", fabric("torus:16x29"))
    reserved = scheme.fabric.index("(15,28)")
    assert path(scheme, 0, reserved) is not None
    for refuse in (scheme.check_width, lambda: scheme.ipv4(reserved)):
        with pytest.raises(ipv4.AddressError, match="loopback"):
            refuse()
