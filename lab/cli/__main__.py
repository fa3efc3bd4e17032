"""``python -m lab.cli``: the same as ``dcnlab``."""

from lab.cli.app import main

main()
