"""What limited a flow, from the kernel's figures, and how long an answer over a known path may take."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcnlab.lab.instruments.flows import limit as flow_limit
from dcnlab.lab.instruments.flows.tcp_info import TcpInfo
from dcnlab.lab.instruments.known_path import KnownPath
from dcnlab.lab.options.link_shape import Shape

#: What ``ss -tinHO`` printed of a flow over 34 % loss.
_LOSSY = (
    "bbr wscale:10,10 rto:256 rtt:45.23/5.509 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:8 ssthresh:24"
    " bytes_sent:1651309 bytes_retrans:509696 bytes_acked:1115550 segs_out:1145 segs_in:266 data_segs_out:1142"
    " bbr:(bw:3792696bps,mrtt:41,pacing_gain:1,cwnd_gain:2) send 2048906bps lastsnd:124 lastack:124"
    " pacing_rate 3754768bps delivery_rate 1408096bps delivered:779 busy:3672ms rwnd_limited:68ms(1.9%)"
    " unacked:18 retrans:8/353 lost:12 sacked:6 rcv_space:14480 rcv_ssthresh:64088 notsent:341176 minrtt:41"
    " snd_wnd:1214464"
)


def test_the_kernels_figures_are_read_from_a_line_of_ss() -> None:
    info = TcpInfo.parse(_LOSSY)
    assert (info.sent, info.again, info.acked) == (1651309, 509696, 1115550)
    assert (info.busy_ms, info.receiver_ms, info.buffer_ms) == (3672, 68, 0)
    assert (info.rtt_ms, info.shortest_rtt_ms) == (45.23, 41)
    assert (info.congestion_window, info.receive_window) == (8 * 1448, 1214464)
    both = TcpInfo.together([info, info])
    assert (both.sent, both.rtt_ms, both.busy_ms) == (2 * 1651309, 45.23, 3672)


def _info(**values: float) -> TcpInfo:
    usual = {"acked": 10**9, "sent": 10**9, "again": 0, "busy_ms": 1000, "receiver_ms": 0, "buffer_ms": 0}
    more = {"rtt_ms": 40, "shortest_rtt_ms": 40, "congestion_window": 50_000, "receive_window": 3_000_000}
    return TcpInfo(**{**usual, **more, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mbps", "info", "known", "what", "says"),
    [
        (95, _info(), KnownPath(rate=1e8), "rate", "carry 100 Mb/s (--rate)"),
        (20, _info(receiver_ms=700), KnownPath(rate=1e9), "window", "window of 3,000 kB was full for 70%"),
        (20, _info(buffer_ms=700), KnownPath(rate=1e9), "window", "product 5,000 kB: --parallel helps"),
        (20, _info(again=10**8), KnownPath(loss=0.2), "loss", "10.0% of the bytes were sent again"),
        (20, _info(again=10**8), KnownPath(), "loss", "`dcnlab overruns`"),
        (20, _info(again=10**8, buffer_ms=700), KnownPath(), "loss", "10.0% of the bytes were sent again"),
        (20, _info(again=10**7, receiver_ms=700), KnownPath(), "window", "was full for 70%"),
        (20, _info(), KnownPath(rtt=0.04), "window", "congestion window was 50 kB at RTT 40 ms"),
        (20, _info(), KnownPath(), "processor", "processors were 90 % busy"),
        (20, _info(), KnownPath(faster=("--fast-path on",)), "processor", "with --fast-path on the kernel"),
    ],
)  # fmt: skip
def test_each_limit_is_named_with_its_figures(
    mbps: float, info: TcpInfo, known: KnownPath, what: str, says: str
) -> None:
    limit = flow_limit.of_tcp(mbps, info, known, 90)
    assert limit.what == what
    assert says in limit.why


def test_what_links_impose_adds_up_along_a_path() -> None:
    shapes = [Shape(delay="5ms", loss="10%", rate="1Gbit"), Shape(delay="5ms", rate="100Mbit")]
    assert KnownPath.of(shapes, shapes) == KnownPath(rtt=0.02, loss=0.1, rate=1e8, delays=4)
    assert KnownPath.of([], []) == KnownPath()
    assert KnownPath.of([], shapes) == KnownPath(rtt=0.01, loss=0.0, loss_back=0.1, delays=2)
    assert KnownPath.of([], shapes).tries == 3, "one exchange of a thousand has failed three times"
    assert KnownPath.of([], shapes).losses == "0.0% of the packets there and 10.0% back"


@given(st.floats(0.01, 0.7), st.integers(0, 2**32))
def test_an_answer_that_is_not_lost_every_time_comes_within_the_patience(loss: float, seed: int) -> None:
    """Requests and answers lost by chance, a request again after 1, 2, 4 ... seconds."""
    known, draw = KnownPath(rtt=0.1, loss=loss), random.Random(seed)
    late = 0
    for _ in range(2000):
        at, pause = 0.0, 1.0
        while draw.random() < loss or draw.random() < loss:
            at, pause = at + pause, 2 * pause
        late += at + known.rtt > known.patience and known.patience < 60
    assert late <= 20
    assert known.patience <= 61


def test_nothing_is_waited_for_on_a_path_that_loses_nothing_or_all() -> None:
    assert KnownPath().patience == 0
    assert KnownPath(loss=1.0).patience == 0, "no answer will come"
