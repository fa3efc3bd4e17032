"""A running lab: what was launched, its link state, the programs in its nodes."""
