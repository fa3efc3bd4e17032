"""What limited a flow: its rate, a window, loss or the processor, with the figures that say so."""

from __future__ import annotations

from dataclasses import dataclass

from dcnlab.lab.instruments.flows.tcp_info import TcpInfo
from dcnlab.lab.instruments.known_path import KnownPath

#: Shares: of a link's rate that counts as reached, of the time that a window was closed.
_REACHED, _CLOSED = 0.8, 0.4
#: Shares of bytes sent again: one that may limit a flow, and one that does even where buffers are full: they
#: hold what waits for the lost packets.
_LOSING, _HEAVILY = 0.005, 0.02
#: A round-trip time that is at most so many times the shortest is the path's, not that of queues.
_UNQUEUED = 2.0


@dataclass(frozen=True)
class Limit:
    """``what`` limited a flow, and ``why``: the figures."""

    what: str
    why: str


def of_tcp(mbps: float, info: TcpInfo, known: KnownPath, busy_percent: float) -> Limit:
    """What limited TCP that reached ``mbps`` in all, on a machine that was ``busy_percent`` busy."""
    if known.rate and mbps >= _REACHED * known.rate / 1e6:
        return Limit("rate", f"links of the path carry {known.rate / 1e6:g} Mb/s (--rate)")
    closed = (info.receiver_ms + info.buffer_ms) / (info.busy_ms or 1)
    lost = info.again / (info.sent or 1)
    if closed >= _CLOSED and lost < _HEAVILY:
        return _buffer(info, known)
    if lost >= _LOSING:
        return Limit(
            "loss", f"{lost:.1%} of the bytes were sent again, RTT {info.rtt_ms:.3g} ms{_lossy(known)}"
        )
    if known.rtt and info.rtt_ms < _UNQUEUED * info.shortest_rtt_ms:
        window, product = _kb(info.congestion_window), _product(known, info)
        return Limit(
            "window",
            f"the congestion window was {window} at RTT {info.rtt_ms:.3g} ms{product}:"
            " it grows by the round-trip time: a longer --for, or --parallel, helps",
        )
    hint = f"; with {' and '.join(known.faster)} the kernel forwards" if known.faster else ""
    return Limit(
        "processor",
        f"no window, loss or rate held it back; the machine's processors were {busy_percent:.0f} % busy{hint}",
    )


def of_udp(lost_percent: float, asked: str, known: KnownPath) -> Limit:
    """What limited UDP that was sent at a rate."""
    if lost_percent / 100 >= _LOSING:
        return Limit("loss", f"{lost_percent:.3g} % of the packets were lost{_lossy(known)}")
    return Limit("rate", f"it was sent at {asked}bit/s (--udp)")


def _buffer(info: TcpInfo, known: KnownPath) -> Limit:
    """Describe the limit by a full send buffer or receive window."""
    receiver = info.receiver_ms >= info.buffer_ms
    name = f"the receiver's window of {_kb(info.receive_window)}" if receiver else "the send buffer"
    share = max(info.receiver_ms, info.buffer_ms) / (info.busy_ms or 1)
    rtt = f"RTT {info.rtt_ms:.3g} ms{_product(known, info)}"
    return Limit("window", f"{name} was full for {share:.0%} of the time at {rtt}: --parallel helps")


def _product(known: KnownPath, info: TcpInfo) -> str:
    """State the bandwidth-delay product, where the rate is known."""
    if not known.rate:
        return ""
    return f", the bandwidth-delay product {_kb(known.rate / 8 * info.shortest_rtt_ms / 1000)}"


def _lossy(known: KnownPath) -> str:
    """Which loss is known."""
    if known.losses:
        return f"; links of the path lose {known.losses} (--loss)"
    return "; no link is told to lose packets: `dcnlab overruns` counts those that agents and switches lost"


def _kb(size: float) -> str:
    return f"{size / 1e3:,.0f} kB" if size < 1e7 else f"{size / 1e6:,.1f} MB"
