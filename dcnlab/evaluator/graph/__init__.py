"""Fabrics as graphs: distances, paths, cuts, failures."""
