"""Which links of a lab are down, why, and which machines follow.

causes.py         why a link is down, and what the user has cut
machine_state.py  what one machine has applied of the link state
state_machine.py  the state machine: pure, its inputs have times, its outputs are effects
driver.py         the threads around it: effects are carried out, and callers wait
"""
