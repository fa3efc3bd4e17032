"""dcnlab: run data-centre networks in which the servers relay packets.

    from dcnlab import Lab, evaluate

    with Lab("bcube:4,1", scheme="brp") as lab:      # real hosts, switches and packets
        lab.ping("h0", "h5")
    evaluate("bcube:8,2", ["brp", "wmgr"])           # the same schemes offline

Names for users, each imported when first used:

    Lab                   a lab: launch it or attach to it, use it, end it
    evaluate              schemes on one topology, offline
    compare, grid         many evaluations in parallel; ``grid`` makes the list of them
    load_custom           loads Python files that define topologies or schemes
    from_networkx         the network that a networkx graph describes; ``to_networkx`` is its inverse
    run_scenario          an experiment from a file or a dictionary: launch, traffic, failures, expectations
    run_matrix            a scenario for every combination of some values, several times each
    fabric                the network that a topology's specification names
    scheme                the routing scheme that a specification names, on a fabric
    LabError, UsageError  errors of labs; SpecError of topologies and schemes.  Each is one line

The packages inside:

    cli/        the command line, ``dcnlab`` or ``python -m dcnlab``
    experiments/  a scenario in labs, for every combination of some values
    lab/        labs: real hosts, switches, controllers and agents on this machine
    papers/     sentences, tables and figures of five papers, measured again
    evaluator/  the same routing schemes offline, on fabrics of up to a million nodes
    traffic/    who sends to whom, how much and when: what labs send and the evaluator predicts

    pytest_plugin.py  labs as fixtures of pytest
    python_path.py   makes sure that Python imports these files and no others
"""

import sys

from dcnlab import python_path

#: Where each name of the interface is defined; ``__init__.pyi`` says the same for type checkers.
_DEFINITIONS = {
    "Lab": ("dcnlab.lab.client", "Lab"),
    "LabError": ("dcnlab.lab.errors", "LabError"),
    "SpecError": ("topos.spec", "SpecError"),
    "UsageError": ("dcnlab.lab.errors", "UsageError"),
    "compare": ("dcnlab.evaluator.comparisons", "compare"),
    "evaluate": ("dcnlab.evaluator.evaluate", "evaluate"),
    "fabric": ("dcnlab.lab.drawing.notebook", "fabric"),
    "from_networkx": ("dcnlab.lab.drawing.notebook", "from_networkx"),
    "grid": ("dcnlab.evaluator.compare", "requests"),
    "load_custom": ("dcnlab.lab.custom", "load"),
    "run_matrix": ("dcnlab.experiments.sweep", "run_matrix"),
    "run_scenario": ("dcnlab.experiments.scenario", "run_scenario"),
    "scheme": ("addressing.registry", "bind"),
    "to_networkx": ("topos.files.export", "to_networkx"),
}
__all__ = list(_DEFINITIONS)

python_path.leave_current_folder()
try:
    python_path.check_packages()
except ImportError as error:
    if not python_path.runs_program():
        raise
    print(f"dcnlab: {error}", file=sys.stderr)
    sys.exit(2)


def __getattr__(name: str) -> object:
    """Import a name of the interface when it is first used."""
    if name == "__version__":
        from importlib.metadata import version

        return version("dcnlab")
    if name not in _DEFINITIONS:
        raise AttributeError(f"module 'dcnlab' has no attribute {name!r}")
    import importlib

    module, attribute = _DEFINITIONS[name]
    globals()[name] = value = getattr(importlib.import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
