"""The JSON-lines codec: any messages in chunks of any size, and other lines."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.linux.channel import Channel, ChannelError, Message, encode

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
messages = st.dictionaries(st.text(), values, max_size=4)


@given(st.lists(messages, max_size=6), st.lists(st.integers(1, 40), min_size=1))
def test_messages_arrive_whole_in_chunks_of_any_size(sent: list[Message], sizes: list[int]) -> None:
    stream = b"".join(map(encode, sent))
    near, far = socket.socketpair()
    with near, far:
        channel, received, at = Channel(far), [], 0
        for size in sizes * (len(stream) // sum(sizes) + 1):
            received += channel.feed(stream[at : at + size])
            at += size
        assert received == sent


def test_messages_until_the_end_of_the_stream() -> None:
    near, far = socket.socketpair()
    sender, receiver = Channel(near), Channel(far)
    for number in range(3):
        sender.send({"number": number})
    near.sendall(b'{"half": ')
    sender.close()
    assert list(receiver.messages()) == [{"number": number} for number in range(3)]
    assert receiver.receive() is None
    receiver.close()
    assert receiver.receive() is None


@pytest.mark.parametrize("line", [b"no message\n", b"[1]\n", b"\n", b"\xff\xfe\n"])
def test_other_lines_are_errors_that_show_the_line(line: bytes) -> None:
    near, far = socket.socketpair()
    with near, far:
        near.sendall(line)
        with pytest.raises(ChannelError, match="not a JSON object"):
            Channel(far).receive()


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_no_line_is_longer_than_the_limit(end: bytes) -> None:
    near, far = socket.socketpair()
    with near, far:
        channel = Channel(far, limit=20)
        assert channel.feed(encode({"text": "12345678"})) == [{"text": "12345678"}]
        assert channel.feed(b'{"text": "1') == []
        with pytest.raises(ChannelError, match="at most 20 bytes"):
            channel.feed(b'2345678901"}' + end)
