"""Several paths at once: parallel paths and complete graphs, by the papers' constructions."""
