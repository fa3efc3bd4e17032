"""Tests of the automatic structures: both roads to Diff, and reduction against brute force."""
