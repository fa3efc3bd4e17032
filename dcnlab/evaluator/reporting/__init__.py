"""Figures and HTML pages.

plots.py   one chart as a figure, styled as in a paper
panels.py  several charts as one figure with a shared legend
report.py  one self-contained HTML page of text, tables and figures
"""
