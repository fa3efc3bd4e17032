"""Drawings of networks, for the view in the browser and as pictures.

layout.py   positions of nodes, and which links are curved around other nodes (pure)
svg.py      the drawing as a picture
"""
