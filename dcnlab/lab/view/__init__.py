"""The web view: a live drawing of a running lab in the browser.

    layout.py   which links are curved around other nodes (pure); families state the positions of nodes
    svg.py      the same drawing as a picture
    app.py      the web application: a thin client of the lab's control socket
    static/     one page: plain HTML, CSS and JavaScript, with no external files

The page is served on 127.0.0.1 only, below a path that is a secret token.  It requests link
state and counters once per second and computes the rates.
"""
