"""Schemes over all pairs: path lengths, next hops, table sizes."""
