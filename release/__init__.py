"""Releases: `make release VERSION=1.2.3` builds one and checks it.

__main__.py      builds, checks, tries a lab in an empty environment, writes the changelog's section
changelog.py     the section of a release, cut from what is under `Unreleased`
constraints.py   the versions of all dependencies that are installed here: constraints.txt
distribution.py  what the wheel has to hold

and the documents that are built:

commands.py      the commands as data, from their help
manual.py        man pages: `make man`
links.py         the site's link to the repository
site.py          the source of the documentation site: `make docs`
"""
