"""A lab in the terminal: ``dcnlab top LAB``.

snapshot.py     what there is to see: links by load, tables, convergence, events; pure
convergence.py  what a change of links led to, from the lab's events; pure
reader.py       reads a lab as the streams of the API do: the state once per interval, events as they come
screen.py       the screen (textual), imported only where it is shown
"""
