"""A lab as numbers over time, for Prometheus.

collector.py   what Prometheus reads: links, ports, queues, agents, flow entries, convergence, processes
exporter.py    serves it over HTTP on 127.0.0.1: ``dcnlab metrics``
"""
