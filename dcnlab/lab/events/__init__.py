"""What happens in a lab, in order: one journal for the command line, Python, the API and the view.

kinds.py     the kinds of events, one dataclass each
journal.py   the journal: a bounded ring of numbered events that readers follow
"""
