"""Five papers' sentences, tables and figures, measured again: ``dcnlab reproduce``.

    borel/    Tang and Arden, Borel Cayley graphs
    clot/     Wang et al., CLOT
    dcube/    Guo et al., DCube
    hrsw/     Kieu et al., HR-SW
    wmgr/     Aguirre-Guerrero et al., WMGR

    claim.py     a published claim, its measurement and the verdict
    sentences.py  what a paper says, judged by its evidence
    registry.py  finds and runs experiments; writes them as Markdown and HTML
    figures.py   figures of published and measured values
    record.py    the stored results of the last run: verdicts.json
    oracles.py   independent values: code that shares nothing with what is measured
    measure.py   measurements that several papers share

:mod:`dcnlab.papers.registry` finds the ``EXPERIMENTS`` of every module in a paper's folder.  An experiment
yields claims (the published value, the method, the relation) with measured values.
"""
