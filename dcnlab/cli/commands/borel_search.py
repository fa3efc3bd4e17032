"""``dcnlab borel-search``: large Borel Cayley graphs of a given diameter."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from dcnlab.cli.app import command
from dcnlab.cli.parameters import options
from dcnlab.cli.show import JsonFlag, print_json
from dcnlab.lab.errors import UsageError
from dcnlab.lab.scenario.values import read_duration

if TYPE_CHECKING:
    from dcnlab.evaluator.borel_search import SearchState


@command("dcnlab borel-search --diameter 11 --for 5min")
def borel_search(
    diameter: Annotated[int, options.number("The diameter of the graphs.", 2, 14)] = 11,
    budget: Annotated[
        str, typer.Option("--for", "--budget", help="How long to search, such as 60s or 10min.")
    ] = "60s",
    start: Annotated[
        int, options.number("The smallest number of nodes to try; 0: start with a fast search.", 0, 2**28)
    ] = 0,
    find: Annotated[
        int, options.number("Stop at a graph with this many nodes; 0: use the whole time.", 0, 2**28)
    ] = 0,
    json: JsonFlag = False,
) -> None:
    """Search for the largest Borel Cayley graph of degree 4 with a given diameter; exit 0 if one is found."""
    from rich.console import Console

    from dcnlab.evaluator import borel_search as engine

    seconds, begun, state = _seconds(budget), time.monotonic(), engine.SearchState(start, start, 0, None)
    with Console(stderr=True, quiet=json).status("searching") as status:
        for state in engine.search(diameter, start):
            best = "none yet" if state.best is None else f"{state.best.nodes:,} nodes"
            status.update(f"groups of {state.done:,} elements; {state.graphs:,} graphs; best: {best}")
            enough = 0 < find <= (state.best.nodes if state.best else 0)
            if enough or time.monotonic() - begun >= seconds:
                break
    _show(state, diameter, round(time.monotonic() - begun, 2), json)
    raise typer.Exit(0 if state.best is not None else 1)


def _show(state: SearchState, diameter: int, seconds: float, json: bool) -> None:
    """Print the best graph and the progress of the search."""
    best = state.best
    if json:
        print_json(
            {
                "diameter": diameter,
                "nodes": None if best is None else best.nodes,
                "topology": None if best is None else best.spec,
                "exhaustive_from": state.since,
                "exhaustive_to": state.done,
                "graphs": state.graphs,
                "seconds": seconds,
            }
        )
    elif best is None:
        print(f"no graph of diameter {diameter} among {state.graphs:,} tried")
    else:
        print(f"{best.spec}: {best.nodes:,} nodes at diameter {best.diameter} (k = {best.k})")
        print(f"{state.graphs:,} graphs tried in {seconds} s, {_range(state)}")


def _seconds(text: str) -> float:
    try:
        return read_duration(text)
    except ValueError as error:
        raise UsageError(f"--for: {error}") from None


def _range(state: SearchState) -> str:
    if state.done < state.since or not state.since:
        return "no size completely searched yet"
    return f"including all graphs of {state.since:,} to {state.done:,} nodes"
