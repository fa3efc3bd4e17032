"""``dcnlab up``: launch a lab."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dcnlab.cli.app import command
from dcnlab.cli.at_prompt import AboutLab
from dcnlab.cli.launching import show_configured, stages
from dcnlab.cli.parameters.arguments import SchemeName, Topology
from dcnlab.cli.parameters.lab_options import Detach, of_labs
from dcnlab.cli.show import JsonFlag, print_json, print_notes, progress_bar, table
from dcnlab.lab.client import Lab
from dcnlab.lab.contract.lab import LabInfo
from dcnlab.lab.errors import UsageError
from dcnlab.lab.measurement.iperf import Iperf
from dcnlab.lab.measurement.ping import Ping
from dcnlab.lab.options import exposure


class Test(StrEnum):
    """The tests of `up --test`."""

    pingall = "pingall"
    pingpairs = "pingpairs"
    iperf = "iperf"


@command(
    "dcnlab up bcube:4,1 --scheme brp",
    "dcnlab up clot:4x4 --scheme pow -d --name c",
    "dcnlab up fattree:4 --scheme twolevel --test pingall --json",
    "dcnlab up bcube:4,1 --scheme brp --rate 100Mbit --delay 1ms",
    "dcnlab up bcube:4,1 --scheme brp --script experiment.py",
    "dcnlab up fattree:4 --scheme twolevel --nat --expose h0:80=8080",
)
@of_labs
def up(
    topology: Topology,
    scheme: SchemeName = "shortest",
    name: Annotated[str, typer.Option(help="Name of the lab.")] = "",
    test: Annotated[Test | None, typer.Option(help="Launch, run a test, end; exit 0 if it passed.")] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="FILE.py", help="Launch, run a Mininet script on the network, end.")
    ] = None,
    detach: Detach = False,
    json: JsonFlag = False,
    **lab_options: Any,
) -> None:
    """Launch a lab: with a prompt, in the background (-d), for one --test or one --script."""
    if detach and test is not None:
        raise UsageError("--test ends the lab and --detach keeps it running: use one of them")
    if script is not None and (detach or test is not None or json):
        raise UsageError("--script ends the lab after the script: use it without --test, --detach and --json")
    if script is not None and not script.is_file():
        raise UsageError(f"there is no script {script}")
    lab = Lab(topology, scheme, name, **lab_options)
    prompt = not detach and test is None
    with stages(quiet=json) as stage:
        file = str(script.resolve()) if script is not None else ""
        lab.start(stage, detach=detach, prompt=prompt, script=file)
    if note := lab.config.note():
        print(f"note: {note}", file=sys.stderr)
    if not json:
        for line in exposure.notes(lab.config.nat, lab.config.expose):
            print(line, file=sys.stderr)
    if lab.aacm and not json:
        show_configured(lab.aacm)
    if prompt:
        raise typer.Exit(min(1, lab.wait()) if script is not None else lab.wait(AboutLab(lab.config.name)))
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


def _configured(lab: Lab) -> dict[str, Any]:
    """The result of AACM, for a lab that started without addresses."""
    return {"aacm": lab.aacm} if lab.aacm else {}


def _show_started(lab: Lab, json: bool) -> None:
    info = lab.info()
    if json:
        print_json({"launch_s": lab.launch_s, **_configured(lab), **info})
    else:
        counts = f"{info['servers']} servers, {info['switches']} switches, {info['links']} links"
        ready = f"{counts}, up in {lab.launch_s} s{_data_path(info)}"
        print(f"{info['name']}: {info['topology']} with {info['scheme']}, {ready}")
        places = {f" on {one['machine']}": one["rest"] for one in info.get("machines") or ()}
        for where, rest in (places or {"": info["controller"]["rest"]}).items():
            if rest:
                print(f"{info['name']}: the applications' REST interface{where} is at {rest}")
        print_notes(info["name"], info["controller"]["notes"])


def _data_path(info: LabInfo) -> str:
    """Where packets are forwarded: by switches, or in a network without any by servers."""
    if info["scheme"].partition(":")[0] == "none":
        return "; programs in nodes route"
    if info["switches"]:
        kernel, who = info["switch_fast_path"] == "on" or info["datapath"] == "kernel", "switches"
    else:
        kernel, who = info["fast_path"] == "on", "servers"
    return f"; {who} forward in {'the kernel' if kernel else 'user space'}"


def _show_figures(result: dict[str, Any], lost: Iterable[str]) -> None:
    """Print the figures of a test, the first lost pairs, and the processes of the lab that have ended."""
    rtt = {f"rtt {name}": f"{value} ms" for name, value in result["rtt_ms"].items() if value is not None}
    verdict = {"verdict": result["verdict"]["text"]} if "verdict" in result else {}
    flat = {**result, **rtt, "lost": len(result.get("lost", ())), **verdict}
    shown = flat.keys() - {"rtt_ms", "ended"}
    table(("figure", "value"), [(key, value) for key, value in flat.items() if value and key in shown])
    for line in (*lost, *result.get("ended", ())):
        print(line)


def _run_test(lab: Lab, test: Test, quiet: bool) -> tuple[dict[str, Any], bool, Iterable[str]]:
    """Run one test: its figures, whether it passed, and lines about lost pairs."""
    if test is Test.iperf:
        names = [node["name"] for node in lab.nodes() if node["kind"] == "server"]
        pairs = ((names[0], names[-1]), (names[-1], names[0]))
        results = [lab.measure(Iperf(a, b, seconds=2)) for a, b in pairs]
        rates = [one.mbps for one in results]
        figures = {"sent": 0, "received": 0, "rtt_ms": {}, "throughput_mbps": rates}
        verdicts = [one.verdict for one in results if one.verdict is not None]
        if worst := min(verdicts, key=lambda one: one.valid, default=None):
            figures["verdict"] = asdict(worst)
        return figures, all(rate > 0 for rate in rates), ()
    ping = Ping(pairs="all" if test is Test.pingall else "pairs")
    with progress_bar(quiet=quiet) as bar:
        asked = lab.measure(ping, lambda report: bar(report["done"], report["of"], report["what"]))
    return {**asked.to_json(), "throughput_mbps": []}, asked.held and asked.sent > 0, asked.lost_lines()
