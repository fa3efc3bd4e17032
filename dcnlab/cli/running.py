"""Commands for running labs: up, ps, exec, fail, restore, down."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from dcnlab.cli import completion, options
from dcnlab.cli.app import app
from dcnlab.cli.show import JsonFlag, print_json, progress_bar, table
from dcnlab.cli.topologies import SchemeName, Topology
from dcnlab.lab.client import Lab, end, run_here, try_info
from dcnlab.lab.errors import LabError, UsageError
from dcnlab.lab.measurement.iperf import Iperf
from dcnlab.lab.measurement.ping import Ping

LabName = Annotated[
    str,
    typer.Argument(autocompletion=completion.labs, metavar="LAB", help="Name of a lab (see `dcnlab ps`)."),
]
NodeName = Annotated[
    str, typer.Argument(metavar="NODE", help="h3, s0, coordinates such as '(1,1)', or an IPv4 address.")
]


class Test(StrEnum):
    """The tests of `up --test`."""

    pingall = "pingall"
    pingpairs = "pingpairs"
    iperf = "iperf"


@app.command()
@options.of_labs
def up(
    topology: Topology,
    scheme: SchemeName = "shortest",
    name: Annotated[str, typer.Option(help="Name of the lab.")] = "",
    test: Annotated[Test | None, typer.Option(help="Launch, run a test, end; exit 0 if it passed.")] = None,
    detach: options.Detach = False,
    json: JsonFlag = False,
    **lab_options: Any,
) -> None:
    """Launch a lab: with a prompt, in the background (-d), or for one --test."""
    if detach and test is not None:
        raise UsageError("--test ends the lab and --detach keeps it running: use one of them")
    lab = Lab(topology, scheme, name, **lab_options)
    prompt = not detach and test is None
    with stages(quiet=json) as stage:
        lab.start(stage, detach=detach, prompt=prompt)
    if note := lab.config.note():
        print(f"note: {note}", file=sys.stderr)
    if lab.aacm and not json:
        show_configured(lab.aacm)
    if prompt:
        raise typer.Exit(lab.wait())
    if test is None:
        _show_started(lab, json)
    else:
        raise typer.Exit(0 if _tested(lab, test, json) else 1)


def _tested(lab: Lab, test: Test, json: bool) -> bool:
    """Run one test in a lab, end the lab and show the figures; whether the test passed."""
    try:
        datapath = lab.info()["datapath"]
        result, held, lost = _run_test(lab, test, json)
        ended = lab.info()["ended"]
    finally:
        lab.stop()
    times = {"launch_s": lab.launch_s, "stop_s": lab.stop_s}
    result = {**times, "datapath": datapath, **_configured(lab), **result}
    if ended:
        result["ended"] = ended
    print_json(result) if json else _show_figures(result, lost)
    return held


@contextmanager
def stages(quiet: bool) -> Iterator[Any]:
    """Show the stages of a launch on standard error."""
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    with console.status("starting") as status:
        yield lambda stage: status.update(f"making {stage}")


def _configured(lab: Lab) -> dict[str, Any]:
    """The result of AACM, for a lab that started without addresses."""
    return {"aacm": lab.aacm} if lab.aacm else {}


def show_configured(aacm: dict[str, Any]) -> None:
    """Print the duration and the frames of AACM or labelling."""
    frames = ", ".join(f"{count} {kind}" for kind, count in sorted(aacm["frames"].items()))
    what = "labels" if aacm["protocol"] == "labelling" else "addresses"
    print(f"{aacm['protocol']}: all servers have {what} after {aacm['ms']} ms; frames: {frames}")


def _show_started(lab: Lab, json: bool) -> None:
    info = lab.info()
    if json:
        print_json({"launch_s": lab.launch_s, **_configured(lab), **info})
    else:
        counts = f"{info['servers']} servers, {info['switches']} switches, {info['links']} links"
        print(f"{info['name']}: {info['topology']} with {info['scheme']}, {counts}, up in {lab.launch_s} s")


def _show_figures(result: dict[str, Any], lost: Iterable[str]) -> None:
    """Print the figures of a test, the first lost pairs, and the processes of the lab that have ended."""
    rtt = {f"rtt {name}": f"{value} ms" for name, value in result["rtt_ms"].items() if value is not None}
    flat = {**result, **rtt, "lost": len(result.get("lost", ()))}
    shown = flat.keys() - {"rtt_ms", "ended"}
    table(("figure", "value"), [(key, value) for key, value in flat.items() if value and key in shown])
    for line in (*lost, *result.get("ended", ())):
        print(line)


def _run_test(lab: Lab, test: Test, quiet: bool) -> tuple[dict[str, Any], bool, Iterable[str]]:
    """Run one test: its figures, whether it passed, and lines about lost pairs."""
    if test is Test.iperf:
        names = [node["name"] for node in lab.nodes() if node["kind"] == "server"]
        pairs = ((names[0], names[-1]), (names[-1], names[0]))
        rates = [lab.measure(Iperf(a, b, seconds=2)).mbps for a, b in pairs]
        figures = {"sent": 0, "received": 0, "rtt_ms": {}, "throughput_mbps": rates}
        return figures, all(rate > 0 for rate in rates), ()
    ping = Ping(pairs="all" if test is Test.pingall else "pairs")
    with progress_bar(quiet=quiet) as bar:
        found = lab.measure(ping, lambda report: bar(report["done"], report["of"], report["what"]))
    return {**found.to_json(), "throughput_mbps": []}, found.held and found.sent > 0, found.lost_lines()


@app.command()
def ps(json: JsonFlag = False) -> None:
    """List labs; a stale one has died and left its socket."""
    from dcnlab.lab import runtime

    rows = [
        {"name": found.name, "alive": found.alive, **(try_info(found.path) if found.alive else {})}
        for found in runtime.labs()
    ]
    if json:
        print_json(rows)
    elif rows:
        keys = ("topology", "scheme", "servers", "switches", "datapath")
        table(
            ("name", *keys, "state"),
            [(row["name"], *(row.get(key, "") for key in keys), _state(row)) for row in rows],
        )
        for row in rows:
            print_ended(row["name"], row.get("ended", ()))
    else:
        print("no labs are running: launch one, e.g. `dcnlab up bcube:4,1 --scheme brp`")


def _state(row: dict[str, Any]) -> str:
    if not row["alive"]:
        return "stale"
    if "topology" not in row:
        return "starting"
    return "damaged" if row.get("ended") else "running"


def print_ended(name: str, ended: Iterable[str]) -> None:
    """Print which processes of the lab have ended, and what to do."""
    lines = [f"{name}: {line}" for line in ended]
    if lines:
        print("\n".join(lines))
        print(f"{name}: they are not restarted: run `dcnlab down {name}` and launch the lab again")


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def exec(
    lab: LabName,
    node: NodeName,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND...", help="Program and arguments; names of servers become their addresses."
        ),
    ],
) -> None:
    """Run a program in a node of a lab, such as `ping -c3 h7` in h1."""
    words = words[1:] if words[:1] == ["--"] else words
    raise typer.Exit(run_here(Lab.attach(lab).path, node, words))


def _change(op: str, lab: str, kind: str, names: list[str], json: bool) -> None:
    found = Lab.attach(lab).ask(op, kind=kind, names=names)
    if json:
        print_json(found)
    else:
        print(changed(found))
        if "repair" in found:
            print(_tables(found))


def changed(found: dict[str, Any]) -> str:
    """One line about a link that has failed or was restored."""
    detection = found["detection_ms"]
    detected = "no change" if detection is None else f"detected after {detection} ms"
    done = "restored" if found["up"] else "failed"
    return f"{done}: {detected}, converged after {found['converged_ms']} ms"


def _tables(found: dict[str, Any]) -> str:
    """One line about the tables of a scheme that repairs split clusters."""
    repair = found["repair"]
    text = f"tables: {found['flow_mods']} flow mods at {found['switches']} switches in {found['tables_ms']} ms"
    if not repair["split_clusters"]:
        return f"{text}; no cluster is split"
    return (
        f"{text}; split clusters: {repair['split_clusters']} ({repair['reclustered']} with a new prefix,"
        f" {repair['on_backup_path']} on backup paths);"
        f" extra entries per switch: {repair['extra_entries_max']} at most"
    )


Kind = Annotated[str, typer.Argument(metavar="link|node", help="A link, or a node with all its links.")]
Names = Annotated[list[str], typer.Argument(metavar="A [B]", help="The two nodes of the link, or the node.")]


@app.command()
def fail(lab: LabName, kind: Kind, names: Names, json: JsonFlag = False) -> None:
    """Take down a link, or all links of a node; return when the lab has converged."""
    _change("fail", lab, kind, names, json)


@app.command()
def restore(lab: LabName, kind: Kind, names: Names, json: JsonFlag = False) -> None:
    """Bring a failed link or node back; return when the lab has converged."""
    _change("restore", lab, kind, names, json)


@app.command(hidden=True)
def heal(lab: LabName, kind: Kind, names: Names, json: JsonFlag = False) -> None:
    """Alias of `restore`."""
    _change("restore", lab, kind, names, json)


@app.command()
def down(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="Name of the lab.")] = "",
    all: Annotated[bool, typer.Option("--all", help="End all your labs.")] = False,
    json: JsonFlag = False,
) -> None:
    """End a lab, or all labs; remove what stale labs left."""
    from dcnlab.lab import runtime

    if bool(lab) == all:
        raise UsageError("name a lab, or use --all")
    chosen = [found for found in runtime.labs() if all or found.name == lab]
    left = [path for path in runtime.logs_left() if all or path.stem == lab]
    if not all and not chosen and not left:
        raise LabError(f"there is no lab named {lab}: see `dcnlab ps`")
    for found in chosen:
        end(found.path)
        print(f"{found.name} ended", file=sys.stderr)
    for path in left:
        path.unlink(missing_ok=True)
        print(f"{path.stem} had ended: log removed", file=sys.stderr)
    if json:
        print_json({"ended": [found.name for found in chosen]})
