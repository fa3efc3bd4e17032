"""Traffic (``dcnlab.traffic``) over routed paths.

flows.py       the directed links that each flow crosses
flow_model.py  whether flows are hashed to one path, split over all, or hashed in parts
capacities.py  capacities of links, where a file states them
loads.py       the load of each directed link
throughput.py  max-min fair rates, and the aggregate bottleneck throughput (ABT)
trees.py       rates along given paths and trees: data replication
onoff.py       rates over time of flows that alternate between on and off
arrivals.py    when on/off or Poisson sources create packets
completion.py  flow completion times: max-min fair shares over time
sharing.py     when flows end, with rates computed again where they change
levels.py      those rates, link by link
latency.py     packet-level simulation: latency, loss and throughput at a given load
credits.py     the same with credits, in place of dropped packets
"""
