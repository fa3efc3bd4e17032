"""The papers' tables and figures, measured again: ``dcnlab reproduce``.

    claim.py           a published claim, its measurement and the verdict
    registry.py        finds and runs experiments; writes them as Markdown and HTML
    figures.py         figures of published and measured values
    record.py          the stored results of the last run: verdicts.json
    measure.py         measurements that several papers share
    borel.py           Tang and Arden, Borel Cayley graphs: Tables 3 and 4, the densest graphs
    borel_example.py   Tang and Arden, Borel Cayley graphs: Tables 1 and 2, Figure 2, livelock
    borel_figures.py   Tang and Arden, Borel Cayley graphs: Figures 3 and 4
    clot.py            Wang et al., CLOT: diameters and average paths, Figure 14
    clot_faults.py     Wang et al., CLOT: average paths with failures, Figure 18
    clot_ideal.py      Wang et al., CLOT: bisection, ideal throughput (Eqs. 8 to 10)
    clot_latency.py    Wang et al., CLOT: throughput and latency, Figures 15 to 17
    clot_structure.py  Wang et al., CLOT: number of shortest paths (Eq. 11)
    clot_tables.py     Wang et al., CLOT: Tables 2 and 3, number of switches, Eq. 12
    dcube.py           Guo et al., DCube: theorems, algorithms, examples, throughput
    dcube_cost.py      Guo et al., DCube: Figures 6 to 8, switches, wires, price, power
    dcube_paths.py     Guo et al., DCube: Figure 4, parallel paths and complete graphs
    dcube_throughput.py  Guo et al., DCube: Figure 5, throughput beside DCell and HCN
    hrsw.py            Kieu et al., HR-SW: Figure 3, Fact 1, table entries, set mode
    hrsw_peers.py      Kieu et al., HR-SW: Figures 4 and 5, comparison with other schemes
    wmgr.py            Aguirre-Guerrero et al., WMGR: Figures 8 to 11, Theorems 9 and 10
    wmgr_charts.py     Aguirre-Guerrero et al., WMGR: the charts of the figures
    wmgr_complexity.py Aguirre-Guerrero et al., WMGR: Tables I to IV, growth of the quantities
    wmgr_orders.py     Aguirre-Guerrero et al., WMGR: the effect of scan order and root
    wmgr_states.py     Aguirre-Guerrero et al., WMGR: Figure 7
    wmgr_topologies.py Aguirre-Guerrero et al., WMGR: Table I

:mod:`dcnlab.evaluator.reproduce.registry` finds each module's ``EXPERIMENTS``.  An experiment
yields claims (the published value, the method, the relation) with measured values.
"""
