"""One file per routing scheme; :mod:`addressing.registry` finds each class by its ``name``."""
