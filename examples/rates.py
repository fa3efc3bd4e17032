"""Teaches rates over time: the links that carry a flow before and after one of them fails, as a data frame."""

from dcnlab import Lab
from dcnlab.lab.measurement.iperf import Iperf

with Lab("bcube:2,1", scheme="brp", rate="20Mbit") as lab:
    path = lab.route("h0", "h3")
    with lab.sample(every=0.1) as samples:
        flow = lab.begin(Iperf("h0", "h3", seconds=2))
        lab.fail(*path[:2])
        print(flow.result().mbps, "Mb/s received")
    frame = samples.frame()

used = frame[frame["bytes"] > 100_000].groupby(["source", "destination"])["mbps"].mean()
print(used.round(1).to_string())
