"""Drawings of networks, for the view in the browser and as pictures.

layout.py    positions of nodes, and which links are curved around other nodes (pure)
rounding.py  links that go round nodes, and the radius of nodes (pure)
bundling.py  links between the same two parts as one bundle (pure)
coast.py     coastlines below maps
document.py  the drawing as a JSON object, for the page of the view
figure.py    what a picture shows: the network, its marks and its text
frame.py     where the parts of a picture are, in pixels
names.py     where the names of nodes are written
notebook.py  a running lab in a notebook
marks.py     what a scheme does, as marks: next hops and paths
svg.py       a picture as SVG
raster.py    a picture as PDF or PNG
"""
