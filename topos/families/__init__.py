"""One file per family; :mod:`topos.registry` finds them by the ``name`` in their class."""
