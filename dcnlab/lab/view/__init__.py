"""The web view: a running lab drawn in a browser, live.

    layout.py   which links bow round other nodes (pure); where nodes stand, families say
    app.py      the web application: a thin client of the lab's control socket
    static/     one page: plain HTML, CSS and JavaScript, nothing from elsewhere

The page is served on 127.0.0.1 only, below a path that is a secret token; it asks for
the state of links and their counters once a second and works out rates itself.
"""
