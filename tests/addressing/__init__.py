"""Tests of the schemes: most of them run over every topology x scheme pair that fits."""
