"""``python -m dcnlab.cli``: the same as ``dcnlab``."""

from dcnlab.cli import main

main()
