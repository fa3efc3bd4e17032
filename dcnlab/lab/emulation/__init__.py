"""The emulated network of a lab: namespaces, links, private Open vSwitches, and its launch."""
