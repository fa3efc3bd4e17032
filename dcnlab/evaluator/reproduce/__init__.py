"""The papers' tables and figures, measured again: one file per paper.

Each file's ``EXPERIMENTS`` are found by :mod:`dcnlab.evaluator.reproduce.registry`; each yields
claims (what is printed, how it is measured, when it holds) beside measured values.
"""
