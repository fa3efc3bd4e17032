"""Traffic over routed paths: loads, throughput, latency."""
