"""The control protocols of agents, one file or folder each, found by name (:mod:`hostagent.registry`)."""
