"""Scenarios: a topology, a scheme, traffic, timed failures, and what is expected of it all.

    topology: clot:4x4
    scheme: pow
    traffic:
      - stream: h0 -> h5        # a packet every millisecond
        for: 2s
    events:
      - at: 1s
        fail: link h0 h4
    expect:
      - stream.outage_ms < 500

Pure, and tested as such:

    model.py     what may stand in a file, as pydantic models
    action.py    the base of everything that happens at a moment, and failures
    traffic.py   a kind of traffic for every registered measurement
    service.py   programs that run in hosts
    values.py    durations, names and failures, read from their text
    expect.py    `NAME.FIGURE < NUMBER`: the grammar of expectations and their verdicts
    timeline.py  when to start and stop what
    check.py     names that fit together, and fit the network

and at the edges:

    reading.py   a YAML file into a checked scenario; errors name file, line and key
    bundled.py   the example scenarios that come with the program
    runner.py    launches the lab, follows the timeline, collects results
    serving.py   starts the services, and collects what they have left
    junit.py     the outcome as JUnit XML

    reference.py  the keys as Markdown tables: docs/scenarios.md
    schema.py     the keys as a JSON Schema: dcnlab schema
"""
