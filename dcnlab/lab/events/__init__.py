"""What happens in a lab, in order: one journal for the command line, Python, the API and the view.

kinds.py     the kinds of events, one dataclass each
phrases.py   arguments and figures in words
brief.py     a line per command, measurement and failure
journal.py   the journal: a bounded ring of numbered events that readers follow
"""
