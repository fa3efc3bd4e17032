"""One file per topology family whose paper constructs parallel paths or complete graphs.

:mod:`addressing.multipath.registry` finds each class by the ``name`` in it.
"""
