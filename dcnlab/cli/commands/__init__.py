"""The commands: each file is one, found by its name."""
