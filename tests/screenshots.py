"""The pictures of the live view in the documents, and a short recording of the screen, made from real labs.

    python -m tests.screenshots docs/images

Look at each before you commit it.  ``tests/lab/view/test_screenshots.py`` checks that each can be made.
"""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dcnlab.cli.side_by_side import figures
from dcnlab.lab.client import Lab
from dcnlab.lab.measurement.stream import Stream
from dcnlab.lab.view import beside as two
from dcnlab.lab.view import replay
from dcnlab.lab.view.recording import Recorder, read
from tests.lab.browser import open_browser, open_page, until

READY = "window.dcnlab?.model.states.length >= 2"
#: A packet has been traced; it is played on the picture then.
TRACED = "document.querySelector('#details')?.textContent.includes('by a real packet')"
#: Width and height of pages, by name.
SIZES = {"desk": (1400, 900), "phone": (390, 844), "wide": (2560, 1440)}
#: Of the recording: size, milliseconds per frame.
_RECORDED, _FRAME = (1160, 690), 100

#: Starts a flow in a lab from one server to another.
Flow = Callable[[Lab, str, str], None]
Scene = Callable[[Any, Lab, Flow], None]


def last(lab: Lab) -> str:
    """The server with the highest number."""
    return f"h{lab.info()['servers'] - 1}"


def choose(page: Any, words: str) -> None:
    """Search for nodes or a link, as a reader would."""
    page.evaluate("document.querySelector('#details').firstElementChild?.classList.add('before')")
    page.fill("#search", words)
    page.press("#search", "Enter")
    heading = words.replace(" ", " → ").replace("-", " – ")
    shown = "document.querySelector('#details > :not(.before) > h2')?.textContent"
    until(page, f"(heading) => {shown} === heading", heading)


def traffic(page: Any, lab: Lab, flow: Flow) -> None:
    """A path, traffic and a link that is down."""
    flow(lab, "h1", last(lab))
    flow(lab, "h2", "h1")
    until(page, "dcnlab.model.states.filter((state) => state.total > 1e6).length >= 2")
    lab.fail("h0", "s0")
    until(page, "dcnlab.model.down.size === 1")
    choose(page, f"h0 {last(lab)}")
    until(page, "dcnlab.picture.marks.path.length")


def traced(page: Any, lab: Lab, _: Flow) -> None:
    """A real packet on its path, with the entries that decided."""
    choose(page, f"h0 {last(lab)}")
    page.click("#trace")
    until(page, TRACED)
    until(page, "!dcnlab.picture.marks.packet || dcnlab.picture.marks.packet.t > 0.2")  # or it has arrived


def parallel(page: Any, lab: Lab, _: Flow) -> None:
    """Parallel paths."""
    choose(page, f"h0 {last(lab)}")
    page.click("#parallel")
    until(page, "dcnlab.picture.marks.paths.length")


def restore_all(page: Any, lab: Lab) -> None:
    """All links are up, and the page knows it."""
    down = "[...dcnlab.model.down].map((link) => dcnlab.model.linkName(link).split(' – '))"
    for ends in page.evaluate(down):
        lab.restore(*ends)
    until(page, "dcnlab.model.down.size === 0")


def next_hops(page: Any, lab: Lab, _: Flow) -> None:
    """Where all nodes send for a server; colours by distance."""
    choose(page, last(lab))
    page.select_option("#colour", "distance")
    page.click("#next-hops")
    until(page, "dcnlab.picture.marks.arrows.length")


def converged(page: Any, lab: Lab, _: Flow) -> None:
    """The moment of a failure: who learned of it when."""
    restore_all(page, lab)
    stream = lab.begin(Stream("h0", last(lab)))
    failed = lab.fail(*lab.route("h0", last(lab))[:2])["links"]
    stream.stop()
    until(page, "(links) => links.every((link) => dcnlab.model.down.has(link))", failed)
    until(page, "dcnlab.model.events.at(-1).kind === 'measurement-ended'")
    page.evaluate("dcnlab.timeline.choose(dcnlab.model.events.findLast((e) => e.kind === 'link' && !e.up))")
    until(page, "document.querySelector('#details .lost')")


#: By file: the scene, the size, and the colours of the page.
SCENES: dict[str, tuple[Scene, str, str]] = {
    "view": (traffic, "desk", "light"),
    "view-trace": (traced, "desk", "dark"),
    "view-parallel": (parallel, "wide", "light"),
    "view-dark": (next_hops, "desk", "dark"),
    "view-convergence": (converged, "desk", "light"),
    "view-phone": (traced, "phone", "light"),
}


@contextlib.contextmanager
def flowing() -> Iterator[Flow]:
    """Starts TCP flows from one server to another, which end with the ``with`` block."""
    begun: list[subprocess.Popen[bytes]] = []

    def flow(lab: Lab, a: str, b: str) -> None:
        command = [sys.executable, "-m", "dcnlab.cli", "iperf", lab.config.name, a, b, "--seconds", "600"]
        begun.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    try:
        yield flow
    finally:
        for process in begun:
            process.terminate()  # a shell's background jobs ignore SIGINT, and so do their children
        for process in begun:
            process.wait(timeout=120)


@contextlib.contextmanager
def served(lab: Lab) -> Iterator[str]:
    """The address of a lab's view."""
    command = [sys.executable, "-m", "dcnlab.cli", "view", lab.config.name]
    serving = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert serving.stdout is not None
    try:
        yield serving.stdout.readline().strip()
    finally:
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=120)


def take(page: Any, lab: Lab, name: str, folder: Path) -> None:
    """One scene as PNG: what a reader sees without scrolling, of a phone the whole page."""
    scene, size, scheme = SCENES[name]
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    with flowing() as flow:
        scene(page, lab, flow)
        page.mouse.move(0, 0)
        page.screenshot(path=folder / f"{name}.png", full_page=size == "phone")
    page.evaluate("dcnlab.timeline.goTo(Infinity)")
    page.select_option("#colour", "part")


def spread(browser: Any, folder: Path, topology: str = "clot:4x4") -> None:
    """How AACM's addresses have spread, as PNG."""
    with (
        Lab(topology, "pow", autoconfigure=True) as lab,
        served(lab) as url,
        open_page(browser, *SIZES["desk"]) as page,
    ):
        page.goto(url)
        until(page, "window.dcnlab?.model.events.some((event) => event.kind === 'configured')")
        page.evaluate("dcnlab.timeline.choose(dcnlab.model.events.find((e) => e.kind === 'configured'))")
        servers = lab.info()["servers"]
        until(page, "(all) => dcnlab.picture.marks.colours?.size === all", servers)
        page.screenshot(path=folder / "view-addresses.png")


def record(lab: Lab, path: Path, seconds: float = 2.5) -> None:
    """A recording: a stream between the first and the last server, and the first link of its path is cut."""
    with Recorder(lab, path):
        time.sleep(1.5)  # what a recording shows of a lab without a failure
        stream = lab.begin(Stream("h0", last(lab)))
        time.sleep(seconds)
        lab.fail(*lab.route("h0", last(lab))[:2])
        time.sleep(seconds)
        stream.stop()


def film(browser: Any, lab: Lab, path: Path, frames: int = 110) -> None:
    """The picture of such a recording as `Play` shows it, as an animated WebP that loops."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder, open_page(browser, *_RECORDED) as page:
        recording, html = Path(folder, "lab.rec"), Path(folder, "lab.html")
        record(lab, recording)
        html.write_text(replay.html(read(recording)), encoding="utf-8")
        page.goto(html.as_uri())
        until(page, READY)
        page.evaluate("dcnlab.playback.rewind(); dcnlab.playback.mark(true)")
        clip = page.evaluate(
            "(() => { const box = document.querySelector('#stage').getBoundingClientRect();"
            " return { x: box.x, y: box.y, width: box.width, height: box.height }; })()"
        )
        images = list[Image.Image]()
        while len(images) < frames and page.evaluate(f"dcnlab.playback.advance({_FRAME / 1000})"):
            images.append(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"))
    images[0].save(
        path, save_all=True, append_images=images[1:], duration=_FRAME, loop=0,
        quality=28, method=6, minimize_size=True, allow_mixed=True,
    )  # fmt: skip


def beside(browser: Any, folder: Path, topology: str = "bcube:4,1") -> None:
    """The same failure under two schemes, side by side, as PNG."""
    with tempfile.TemporaryDirectory() as kept, open_page(browser, 1600, 950) as page:
        recordings = []
        for scheme in ("brp", "wmgr"):
            with Lab(topology, scheme, name=scheme) as lab:
                record(lab, Path(kept, f"{scheme}.rec"))
            recordings.append(read(Path(kept, f"{scheme}.rec")))
        html = Path(kept, "both.html")
        html.write_text(two.html(recordings, figures), encoding="utf-8")
        page.goto(html.as_uri())
        until(page, "window.beside")
        page.evaluate("beside.seek(0.03)")
        until(page, "document.querySelector('#differences').textContent.includes('mean stretch')")
        page.screenshot(path=folder / "view-beside.png")


def main() -> None:
    """All pictures, into the folder of the command line."""
    folder = Path(sys.argv[1])
    with open_browser() as browser:
        with Lab("bcube:4,1", "brp") as lab, served(lab) as url, open_page(browser) as page:
            page.goto(url)
            until(page, READY)
            for name in SCENES:
                take(page, lab, name, folder)
                print(folder / f"{name}.png", flush=True)
        with Lab("bcube:4,1", "brp") as lab:  # its first failure is the one of the film
            film(browser, lab, folder / "view.webp")
        spread(browser, folder)
        beside(browser, folder)
        print(folder / "view.webp", folder / "view-addresses.png")


if __name__ == "__main__":
    main()
