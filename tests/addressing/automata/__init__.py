"""Tests of the automatic structures: both computations of Diff, and reduction against brute force."""
