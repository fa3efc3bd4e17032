"""One file per routing scheme; :mod:`addressing.registry` finds them by the ``name`` in their class."""
