"""The live picture in headless Chromium: milliseconds per frame while 1024 servers are moved and zoomed.

    python -m benchmarks view [TOPOLOGY...]

The page is that of `dcnlab replay`, with traffic on every third link.  A frame is what the page does to paint
it (``paint``), and the time from one frame to the next (``frame``; 16.7 ms are 60 frames a second).
"""

from __future__ import annotations

import secrets
import statistics
import sys
import threading
import time
from typing import Any

import uvicorn
from playwright.sync_api import sync_playwright

from dcnlab.lab.api.listening import at_port
from dcnlab.lab.drawing.document import fabric_json
from dcnlab.lab.view.recording import Recording
from dcnlab.lab.view.replay import application
from topos import registry

_TOPOLOGIES = ("bcube:4,1", "bcube:32,1", "bcube:4,4", "torus:32x32", "fattree:16")
#: Move in a circle, then zoom in and out; a frame each.
_MOVE = """
async () => {
  const { picture, model } = dcnlab, frames = [];
  picture.times.length = 0;
  let before = await new Promise(requestAnimationFrame);
  for (let step = 0; step < 180; step += 1) {
    if (step < 90) picture.camera.move(12 * Math.cos(step / 9), 12 * Math.sin(step / 9));
    else picture.camera.zoom(step < 135 ? 1.03 : 1 / 1.03);
    picture.request();
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
  }
  return [frames, picture.times];
}
"""


def recording(spec: str) -> Recording:
    """Three seconds of a lab with traffic on every third link."""
    fabric = registry.fabric(spec)
    drawn = fabric_json(fabric)
    nodes = [{**node, "ipv4": ""} for node in drawn["nodes"]]
    about = {"name": "benchmark", "topology": spec, "scheme": "-"}
    busy = [10.0 ** (3 + number % 7) if number % 3 == 0 else 0.0 for number in range(len(drawn["links"]))]
    states = [
        {"at": float(second), "down": [1], "ended": [], "links": [[rate * second, 0] for rate in busy]}
        for second in range(4)
    ]
    return Recording({**about, "nodes": nodes, "links": drawn["links"]}, [["state", one] for one in states])


def measure(page: Any, spec: str) -> str:
    """A row of the table."""
    token, listener = secrets.token_urlsafe(8), at_port(0)
    begun = time.perf_counter()
    server = uvicorn.Server(uvicorn.Config(application(recording(spec), token), log_level="warning"))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    page.goto(f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/")
    while not page.evaluate("window.dcnlab?.picture.times.length > 0"):
        time.sleep(0.01)
    first = time.perf_counter() - begun
    frames, paints = page.evaluate(_MOVE)
    server.should_exit = True
    nodes, links = page.evaluate("[dcnlab.model.nodes.length, dcnlab.model.links.length]")
    figures = (quantile(values, q) for values in (paints, frames) for q in (0.5, 0.95))
    return f"{spec:14}{nodes:7}{links:7}{first:9.2f} s" + "".join(f"{value:12.1f}" for value in figures)


def quantile(values: list[float], share: float) -> float:
    """A quantile of some figures."""
    return statistics.quantiles(values, n=100, method="inclusive")[round(100 * share) - 1]


def main() -> None:
    """Print the table."""
    head = ("paint p50", "paint p95", "frame p50", "frame p95")
    print(f"{'topology':14}{'nodes':>7}{'links':>7}{'shown in':>11}" + "".join(f"{one:>12}" for one in head))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for spec in sys.argv[1:] or _TOPOLOGIES:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            print(measure(page, spec), flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
