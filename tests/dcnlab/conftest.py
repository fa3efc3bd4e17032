"""Tests of dcnlab without labs: what those with labs share."""

from tests.lab.conftest import own_labs, programs

__all__ = ["own_labs", "programs"]
