"""CONTRIBUTING.md's operation, one file outside the clone, is a command, a Python method, an HTTP request."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dcnlab.lab.api import app as api
from dcnlab.lab.api.stream import Broadcast
from dcnlab.lab.client import Lab
from tests.clean import check_clean
from tests.lab.lines import alone

ROOT = Path(__file__).parents[3]
SECTION = (
    (ROOT / "CONTRIBUTING.md")
    .read_text()
    .partition("## Adding an operation: one file")[2]
    .partition("\n## ")[0]
)
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", SECTION, re.DOTALL)
Dcnlab = Callable[..., subprocess.CompletedProcess[str]]
CUSTOM = ("--custom", "listening.py")
SERVER = ["python3", "-m", "http.server", "8000"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two files that CONTRIBUTING.md shows."""
    tmp_path = tmp_path_factory.mktemp("operation")
    assert [language for language, _ in BLOCKS] == ["python", "python"]
    for name, (_, text) in zip(("listening.py", "script.py"), BLOCKS, strict=True):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def dcnlab(programs: Path, folder: Path) -> Dcnlab:
    """The program, started in that folder."""
    return functools.partial(alone, programs, folder)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab("bcube:2,1", scheme="brp") as running:
        running.serve("web", "h3", SERVER, ready="tcp:8000")
        yield running


def test_it_is_clean(folder: Path) -> None:
    check_clean(folder, "listening.py")


def test_its_command_has_help_and_checks_arguments(dcnlab: Dcnlab) -> None:
    shown = dcnlab("listening", "--help", *CUSTOM)
    assert "List the TCP ports at which programs in a server listen" in shown.stdout
    assert "--above" in shown.stdout
    for value in ("-1", "65536", "many"):
        refused = dcnlab("listening", "nolab", "h3", "--above", value, *CUSTOM)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
        assert "--above" in refused.stderr


@pytest.mark.lab
def test_the_command_asks_the_lab(dcnlab: Dcnlab, lab: Lab) -> None:
    name = lab.config.name
    done = dcnlab("listening", name, "h3", "--json", *CUSTOM)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"node": "h3", "ports": [8000]}
    assert "8000" in dcnlab("listening", name, "h3", *CUSTOM).stdout
    assert (
        json.loads(dcnlab("listening", name, "h3", "--above", "8000", "--json", *CUSTOM).stdout)["ports"] == []
    )
    wrong = dcnlab("listening", name, "s0", *CUSTOM)
    assert (wrong.returncode, wrong.stderr) == (2, "dcnlab: s0 is a switch: name a server\n")


@pytest.mark.lab
def test_a_script_asks_as_shown(folder: Path) -> None:
    words = [sys.executable, "script.py"]
    done = subprocess.run(words, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[8000]\n", "")


HTTP = """\
import json, sys
from starlette.testclient import TestClient
from dcnlab import Lab, load_custom
from dcnlab.lab.api import app
from dcnlab.lab.api.stream import Broadcast

load_custom(["listening.py"])
lab = Lab.attach(sys.argv[1])
client = TestClient(app.interface(lab, Broadcast(lab)))
paths = client.get("/openapi.json").json()["paths"]
schema = paths["/operations/listening"]["post"]["requestBody"]["content"]["application/json"]["schema"]
answers = [client.post("/operations/listening", json=body) for body in ({"node": "h3"}, {"node": 3}, {})]
print(json.dumps([schema, *([one.status_code, one.json()] for one in answers)]))
"""


@pytest.mark.lab
def test_http_has_it(folder: Path, lab: Lab) -> None:
    words = [sys.executable, "-c", HTTP, lab.config.name]
    done = subprocess.run(words, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    schema, *answers = json.loads(done.stdout)
    assert (schema["required"], schema["properties"]["above"]["maximum"]) == (["node"], 65535)
    text = "'node' of a request for 'listening' must be text, not 3"
    assert answers == [
        [200, {"node": "h3", "ports": [8000]}],
        [400, {"error": text}],
        [400, {"error": "a request for 'listening' needs 'node'"}],
    ]


@pytest.mark.lab
def test_a_second_file_of_that_name_is_refused_and_the_lab_goes_on(
    dcnlab: Dcnlab, folder: Path, lab: Lab
) -> None:
    assert dcnlab("listening", lab.config.name, "h3", *CUSTOM).returncode == 0
    (folder / "other.py").write_text((folder / "listening.py").read_text())
    refused = dcnlab("listening", lab.config.name, "h3", "--custom", "other.py")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "choose another name" in refused.stderr
    assert lab.info().servers == 4


@pytest.mark.lab
def test_operations_of_the_program_have_requests_of_their_own(lab: Lab) -> None:
    client = TestClient(api.interface(lab, Broadcast(lab)))
    assert client.post("/operations/down", json={}).status_code == 400
    assert lab.info().servers == 4
