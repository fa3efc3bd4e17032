"""``python -m dcnlab``: the same program as ``dcnlab``."""

from dcnlab.cli import main

if __name__ == "__main__":
    main()
