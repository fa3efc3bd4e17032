"""Teaches labs in Python: launch one, measure, cut a link, restore it."""

from dcnlab import Lab

with Lab("bcube:2,1", scheme="brp") as lab:
    print(" ".join(lab.route("h0", "h3")))
    lab.fail("h0", lab.route("h0", "h3")[1])
    print(" ".join(lab.route("h0", "h3")))
    pings = lab.pingall()
    print(f"{pings.received} of {pings.sent} pings answered with a link cut")
    lab.restore("h0")
