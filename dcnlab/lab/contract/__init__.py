"""What clients, labs and machines say to each other: frozen dataclasses, and their JSON.

operation.py  what an operation is: a request with its answer
answer.py     the base of answers, which are their JSON objects as well
fields.py     arguments of measurements and operations, with their limits and help
codec.py      dataclasses as JSON values, and from them
values.py     values that JSON can hold, as types
launch.py     what launches a lab, and what is reported of that
lab.py        answers about a lab, its controller and its openings
links.py      answers about links that fail
network.py    answers about the network: what links carry, impairments, queues
machine.py    what a machine and the coordinator tell each other of links
part.py       what is said to the server of a part on another machine, and by it
processes.py  answers about processes
programs.py   answers about programs and services
switches.py   answers about tables, entries and paths
keys.py       answers about keys and values
"""
