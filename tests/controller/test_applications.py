"""Which library an application of the user is written for; what cannot be loaded is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller import applications
from controller.applications import ApplicationError

OS_KEN = "from os_ken.base.app_manager import OSKenApp\n"
RYU = "import json, ryu.base.app_manager\n"


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_imports_decide(tmp_path: Path) -> None:
    os_ken, ryu = write(tmp_path, "a.py", OS_KEN), write(tmp_path, "b.py", RYU)
    neither = write(tmp_path, "c.py", "import json\n")
    assert applications.library([]) == ""
    assert applications.library([neither]) == ""
    assert applications.library([os_ken, neither]) == "os-ken"
    assert applications.library([neither, ryu]) == "ryu"
    assert applications.library(["ryu.app.ofctl_rest", ryu]) == "ryu"
    assert applications.library(["os_ken.topology.switches"]) == "os-ken"
    with pytest.raises(ApplicationError, match=r"a.py needs os-ken and .*b.py needs ryu: one process"):
        applications.library([os_ken, ryu])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.py", "x = (\n", r"application \S*a.py, line 1: SyntaxError: "),
        ("a.py", "x = 1\0", r"application \S*a.py.*(null|SyntaxError)"),
        ("missing.py", None, r"application \S*missing.py: No such file"),
    ],
)
def test_what_cannot_be_read_is_one_line(name: str, text: str | None, says: str, tmp_path: Path) -> None:
    if text is not None:
        write(tmp_path, name, text)
    with pytest.raises(ApplicationError, match=says) as raised:
        applications.library([str(tmp_path / name)])
    assert "\n" not in str(raised.value)


def test_modules_that_do_not_exist() -> None:
    for name in ("no_such_package", "no_such_package.module", "ryu.app.no_such_module"):
        with pytest.raises(ApplicationError, match=f"there is no module {name}"):
            applications.library([name])
