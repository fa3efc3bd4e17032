"""Distributed labelling (WMGR): nodes learn their labels by messages."""
