# The public Python interface for type checkers: what __init__.py imports when it is first used.

from addressing.registry import bind as scheme
from dcnlab.evaluator.compare import requests as grid
from dcnlab.evaluator.comparisons import compare as compare
from dcnlab.evaluator.evaluate import evaluate as evaluate
from dcnlab.experiments.scenario import run_scenario as run_scenario
from dcnlab.experiments.sweep import run_matrix as run_matrix
from dcnlab.lab.client import Lab as Lab
from dcnlab.lab.custom import load as load_custom
from dcnlab.lab.drawing.notebook import fabric as fabric
from dcnlab.lab.drawing.notebook import from_networkx as from_networkx
from dcnlab.lab.errors import LabError as LabError
from dcnlab.lab.errors import UsageError as UsageError
from topos.files.export import to_networkx as to_networkx
from topos.spec import SpecError as SpecError

__all__ = [
    "Lab",
    "LabError",
    "SpecError",
    "UsageError",
    "compare",
    "evaluate",
    "fabric",
    "from_networkx",
    "grid",
    "load_custom",
    "run_matrix",
    "run_scenario",
    "scheme",
    "to_networkx",
]
__version__: str
