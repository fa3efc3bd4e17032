"""Namespaces, Open vSwitch, launch: what makes a lab."""
