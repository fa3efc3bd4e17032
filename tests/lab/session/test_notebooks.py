"""The notebooks run from the first cell to the last."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a kernel with this interpreter, whatever kernels the machine has."""
    folder = tmp_path / "kernels" / "dcnlab-test"
    folder.mkdir(parents=True)
    words = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": words, "display_name": "test", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    return folder.name


@pytest.mark.lab
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path, kernel: str, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    folder = tmp_path / "current"
    folder.mkdir()
    # A cell may take as long as a test: on a busy machine most of its time is numba's.
    client = NotebookClient(
        notebook, kernel_name=kernel, timeout=None, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()  # raises with the traceback of the cell that failed
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", ())]
    assert [one for one in outputs if one.get("name") == "stderr"] == []
    if path.stem == "comparison":
        assert sum("image/png" in one.get("data", {}) for one in outputs) == 2
        [shown] = [one["data"]["text/html"] for one in outputs if "text/html" in one.get("data", {})]
        assert shown.count("data:image/svg+xml") >= 2
        assert "±" in shown
        assert "<table>" in shown


def test_there_are_three_without_output_and_the_examples_are_those_of_contributing() -> None:
    assert len(NOTEBOOKS) == 3
    texts = {path: nbformat.read(path, as_version=4) for path in NOTEBOOKS}
    assert not [cell for notebook in texts.values() for cell in notebook.cells if cell.get("outputs")]
    shown = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    (own,) = (notebook for path, notebook in texts.items() if path.stem == "your-own")
    written = [cell.source.partition("\n")[2] for cell in own.cells if cell.source.startswith("%%writefile")]
    assert len(written) == 2
    assert all(f"{text}\n" in shown for text in written)
