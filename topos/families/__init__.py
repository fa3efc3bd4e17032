"""One file per family; :mod:`topos.registry` finds a file by the family's name."""
