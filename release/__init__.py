"""Releases: `make release VERSION=1.2.3` builds one and checks it.

__main__.py      builds, checks, tries a lab in an empty environment, writes the changelog's section
changelog.py     the section of a release, cut from what is under `Unreleased`
constraints.py   the versions of all dependencies that are installed here: constraints.txt
distribution.py  what the wheel has to hold
"""
