"""Two labs, or two recordings, side by side: their pages in a page with one time and the differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from dcnlab.lab.api.app import interface, secured
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from dcnlab.lab.errors import UsageError
from dcnlab.lab.view import replay
from dcnlab.lab.view.recording import Recording

_STATIC = Path(__file__).parent / "static"
_PAGE = _STATIC / "beside.html"
#: What a scheme does on a topology while links are down: figures by name.
Figures = Callable[[str, str, frozenset[int]], Mapping[str, float | None]]
#: The topology and the scheme of a side.
Subject = tuple[str, str]


def of_labs(labs: Sequence[Lab], broadcasts: Sequence[Broadcast], token: str, figures: Figures) -> Starlette:
    """The application for two running labs."""
    pages = [
        [Mount("/api", app=interface(lab, broadcast)), Mount("/", app=_files())]
        for lab, broadcast in zip(labs, broadcasts, strict=True)
    ]
    return _application(pages, [(lab.config.topology, lab.config.scheme) for lab in labs], token, figures)


def of_recordings(recordings: Sequence[Recording], token: str, figures: Figures) -> Starlette:
    """The application for two recordings."""
    pages = [[*replay.answers(one), Mount("/", app=_files())] for one in recordings]
    return _application(pages, list(map(_subject, recordings)), token, figures)


def html(recordings: Sequence[Recording], figures: Figures) -> str:
    """One page with two recordings in it, which needs no server."""
    known = [
        {",".join(map(str, sorted(down))): figures(*_subject(one), down) for down in _downs(one)}
        for one in recordings
    ]
    return replay.whole(
        _PAGE, "beside", {"sides": {"pages": list(map(replay.html, recordings)), "figures": known}}
    )


def _application(
    pages: Sequence[Sequence[BaseRoute]], subjects: Sequence[Subject], token: str, figures: Figures
) -> Starlette:
    async def figures_of(request: Request) -> Response:
        side = "ab".find(request.path_params["side"])
        words = request.query_params.get("down", "").split(",")
        if side < 0 or not all(word.isdecimal() or not word for word in words):
            raise UsageError("ask for figures/a?down=3,7, or for b")
        down = frozenset(int(word) for word in words if word)
        return JSONResponse(dict(await run_in_threadpool(figures, *subjects[side], down)))

    def first(_: Request) -> Response:
        return FileResponse(_PAGE)

    routes: list[BaseRoute] = [
        Mount(f"/{name}", routes=list(page)) for name, page in zip("ab", pages, strict=True)
    ]
    return secured(
        [Route("/", first), Route("/figures/{side}", figures_of), *routes, Mount("/", app=_files())], token
    )


def _files() -> StaticFiles:
    return StaticFiles(directory=_STATIC, html=True)


def _subject(recording: Recording) -> Subject:
    return recording.drawing["topology"], recording.drawing["scheme"]


def _downs(recording: Recording) -> set[frozenset[int]]:
    """The links that are down at some time of a recording."""
    down: set[int] = set()
    downs = {frozenset[int]()}
    for kind, message in recording.messages:
        if kind == "state":
            down = set(message["down"])
        elif message["kind"] == "link":
            (down.discard if message["up"] else down.add)(message["link_number"])
        downs.add(frozenset(down))
    return downs
