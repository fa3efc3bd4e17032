"""Impairments of links: rate, loss, delay and wrong bits, with netem or without it.

impairments.py  the impairments of a lab's links, at the launch and as changed since
shaping.py      how the kernel imposes them: lines for ``tc``
loss.py         loss by eBPF, without netem
delays.py       the session's side of the delay line, without netem
delay_line.py   the process that holds packets back
corruption.py   wrong bits in packets there
"""
