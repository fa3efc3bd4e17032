"""Which files Python imports: dcnlab's own, never those that lie in the folder of the caller.

Python looks for modules first in the folder of the script, or in the current folder.  A user who has
a ``controller.py`` there (the usual name of a Ryu application) must not run it in place of ours.

- Processes that dcnlab starts get ``-P``: they do not search the current folder
  (:mod:`dcnlab.lab.python_process`).
- ``python -m dcnlab`` takes the current folder off its own search path.
- In a user's own program the folder of the script stays on the search path, because its modules are
  there.  A file that hides a package of dcnlab is an ImportError of one line.
"""

import os
import sys
from importlib.machinery import PathFinder

#: The folder that holds the top-level packages: a clone, or site-packages.
_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_PACKAGES = ("addressing", "controller", "hostagent", "topos")


def leave_current_folder() -> None:
    """Take the current folder off the search path if Python was started as ``python -m dcnlab``."""
    if _runs_module() and not sys.flags.safe_path and os.path.realpath(sys.path[0]) != _ROOT:
        del sys.path[0]


def _origin(name: str) -> str | None:
    """The file of a top-level module that is imported already, or would be; None without any."""
    if name in sys.modules:
        return sys.modules[name].__file__
    spec = PathFinder.find_spec(name)
    return spec.origin if spec else None


def runs_program() -> bool:
    """Whether this process is the program ``dcnlab``, and not a user's own that imports the package."""
    return _runs_module() or os.path.basename(sys.argv[0]) == "dcnlab"


def _runs_module() -> bool:
    return any(
        option == "-m" and module.partition(".")[0] == "dcnlab"
        for option, module in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    )


def check_packages() -> None:
    """Raise ImportError with one line if another file hides a top-level package of dcnlab."""
    for name in _PACKAGES:
        own = os.path.join(_ROOT, name, "__init__.py")
        origin = _origin(name)
        if origin is None:
            raise ImportError(f"dcnlab cannot find its package {name}: add {_ROOT} to PYTHONPATH", name=name)
        if origin != own and not os.path.samefile(origin, own):
            raise ImportError(
                f"{origin} hides the package {name} of dcnlab: rename or move it",
                name=name,
                path=origin,
            )
