"""The web view: a live drawing of a running lab in the browser.

    app.py          the web application: the page, and the lab's interface (dcnlab/lab/api) beside it
    recording.py    recordings of labs as files
    drawn.py        a network that does not run, as one page
    replay.py       the page with a recording: served, or as one file
    beside.py       two labs, or two recordings, side by side
    static/         the page: plain HTML, CSS and JavaScript modules, with no external files

The page is served on 127.0.0.1 only, below a path that is a secret token.  It is a client of the interface:
link state, counters and events come to it as one stream; from the counters it computes the rates.
"""
