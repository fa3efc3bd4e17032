"""Names, labels and words that come from elsewhere do nothing to terminals, tcpdump, drawings and paths."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.cli.show import harmless
from dcnlab.lab.capture import command as tcpdump
from dcnlab.lab.client import Lab
from dcnlab.lab.control import runtime
from dcnlab.lab.errors import LabError, UsageError
from tests.lab.lines import dcnlab
from topos import registry
from topos.files.export import WRITERS

RED = "\x1b]0;title\x07\x1b[31mred"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network whose names and labels have terminal escapes and Mermaid's special characters."""
    file = tmp_path_factory.mktemp("files") / "hostile.json"
    nodes = [
        {"name": RED, "kind": "server"},
        {"name": "b", "kind": "server", "label": 'x"]; click b call alert() %% <script> #quot;\u202e'},
        {"name": "end", "kind": "switch"},
    ]
    links = [{"a": "b", "b": "end"}, {"a": RED, "b": "end"}]
    file.write_text(json.dumps({"nodes": nodes, "links": links}))
    return file


@pytest.mark.parametrize(
    "words", [(), ("--format", "mermaid"), ("--format", "mermaid", "--bad\x1b[31m"), ("\x1b[31m",)]
)
def test_a_network_of_others_does_nothing_to_the_terminal(hostile: Path, words: tuple[str, ...]) -> None:
    done = dcnlab("topology", f"file:{hostile}", *words)
    assert not CONTROL.search(done.stdout + done.stderr)
    assert "red" in done.stdout or done.returncode == 2


def test_a_missing_file_is_named_harmlessly() -> None:
    done = dcnlab("topology", "file:x\x1b[31mred")
    assert done.returncode == 2
    assert "x\\x1b[31mred" in done.stderr


def test_mermaid_has_one_line_per_node_and_link_and_no_special_character(hostile: Path) -> None:
    fabric = registry.fabric(f"file:{hostile}")
    first, *lines = WRITERS["mermaid"](fabric).splitlines()
    assert (first, len(lines)) == ("graph LR", 5)
    for line in lines[:3]:
        assert re.fullmatch(r'  \w+[\[(]"(?:[\w .,:=/()+*-]|#\d+;)*"[\])]', line), line
    for line in lines[3:]:
        assert re.fullmatch(r"  \w+ --- \w+", line)
    assert not any(re.search(r"\bend\b *[\[(-]", line) for line in lines)


def test_texts_without_control_characters_stay() -> None:
    assert harmless("h0 → s1\t(1,1)\nnext ä") == "h0 → s1\t(1,1)\nnext ä"
    assert harmless("\x1b\x9b\u202e\r") == "\\x1b\\x9b\\u202e\\r"


@pytest.mark.parametrize("name", ["-x", "--all", "A", "a_b", "ä", "a/b", "", "a" * 33, "a\n", "²"])
def test_a_name_that_is_no_name(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid lab name"):
        runtime.socket_path(name)


@pytest.mark.parametrize("name", ["a", "0", "lab-1", "a" * 32])
def test_a_name_that_is_one(name: str) -> None:
    assert runtime.socket_path(name).name == f"{name}.sock"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("what", ["file", "link", "long"])
def test_a_runtime_folder_that_cannot_be_one_is_one_line(
    base: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    if what == "file":
        (base / "dcnlab").write_text("")
    elif what == "link":
        (base / "dcnlab").symlink_to("nowhere")
    else:
        (base / ("x" * 100)).mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(base / ("x" * 100)))
    with pytest.raises(LabError, match=r"must be a folder of yours|too long for a socket"):
        runtime.socket_path("lab")
    for command in (["ps"], ["up", "bcube:2,1", "--test", "pingall"], ["down", "lab"]):
        done = dcnlab(*command)
        assert done.returncode in (1, 2) or (what == "long" and command == ["ps"])
        assert len(done.stderr.splitlines()) <= 1
        assert "an error in dcnlab itself" not in done.stderr


def test_the_longest_path_of_a_socket_is_one_that_listens(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dcnlab.lab.emulation.sandbox import listen

    left = runtime._LONGEST_PATH - len(os.fsencode(base)) - len("//dcnlab/lab.sock")
    deep = base / ("x" * left)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    path = runtime.socket_path("lab")
    assert len(os.fsencode(path)) == runtime._LONGEST_PATH
    monkeypatch.setattr(os, "getpid", lambda: 4_194_304)  # the largest that there is
    listen(path).close()


def test_an_expression_of_tcpdump_is_no_option() -> None:
    fabric = registry.fabric("bcube:2,1")
    for port, node in ((1, 0), (None, 0), (None, 4)):
        words = tcpdump.command(fabric, node, port, lambda _: 1, ["-U"], ["-w/tmp/written"])
        assert words[-2] == "--"
        assert "-w/tmp/written" in words[-1]


@pytest.mark.lab
def test_the_words_of_a_program_are_shown_as_text() -> None:
    with Lab("torus:2", "pow") as lab:
        lab.run("h0", ["echo", RED])
        done = dcnlab("events", lab.config.name)
        assert "title" in done.stdout
        assert not CONTROL.search(done.stdout)
        done = dcnlab("capture", lab.config.name, "h0", "--count", "1", "--", "-w/tmp/written")
        assert done.returncode != 0
        assert not Path("/tmp/written").exists()
