"""Impairments of links: rate, loss, delay and wrong bits, with netem or without it."""
