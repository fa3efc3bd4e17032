"""``python -m lab.cli``: the same as ``dcnlab``."""

from lab.cli import main

main()
