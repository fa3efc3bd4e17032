"""The private Open vSwitches of a lab, their controllers, and what is set at their ports."""
