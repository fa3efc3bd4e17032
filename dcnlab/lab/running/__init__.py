"""A running lab: what was launched, changes of its links, the programs in its nodes."""
