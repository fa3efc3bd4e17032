"""Any scheme as a Markov chain of its packets' states: needs no vectorised form.

markov.py     the chain, solved exactly
exploring.py  finds its states, by the rule or by tables
asking.py     by the rule: it is asked once for all packets that it treats alike
tabled.py     by compiled tables: a rule is asked once per class
"""
