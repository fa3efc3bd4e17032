"""Figures and HTML pages.

charts.py      what a figure shows; data only
labels.py      names for topologies and schemes in figures
axes.py        curves, scales and names on one pair of axes
compared.py    published and measured values in one figure: over a parameter, or as named rows
panels.py      several charts as one figure
plots.py       a chart or panels as a figure, styled as in a paper
tables.py      rows as CSV and Parquet
report.py      one self-contained HTML page of text, tables and figures
conditions.py  one figure of a comparison: all networks on one axis
comparison.py  the figures and the page of a comparison
notebook.py    results as the output of a notebook's cell
"""
