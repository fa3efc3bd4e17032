"""The order in which WMGR's scan compares a node's neighbours.

wmgr_scan_order.py   the order in which WMGR compares neighbours
wmgr_scan_search.py  the search for an order with short paths
"""
