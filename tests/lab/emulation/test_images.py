"""Hosts with root file systems of their own: images from OCI layouts, and folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcnlab import Lab, UsageError, run_scenario
from dcnlab.lab.emulation.images import cache, engines, layout, roots
from dcnlab.lab.errors import LabError, OptionError
from dcnlab.lab.options import images
from dcnlab.lab.options.config import LabConfig
from dcnlab.lab.options.images import Image
from dcnlab.lab.program import Program
from dcnlab.lab.scenario.reading import from_values
from tests.lab import oci

TOOLS = ("sh", "cat", "ls", "wget", "httpd", "hostname", "pwd", "env", "rm", "ping", "mkdir", "sleep")

Unpack = Callable[..., Path]

# --- names -----------------------------------------------------------------------------


def test_what_a_user_writes_names_a_folder_or_an_image() -> None:
    assert Image.parse("/srv/root") == Image("/srv/root")
    assert Image.parse("web", "/srv") == Image("/srv/web")
    assert Image.parse("oci:/srv/l") == Image("/srv/l", True)
    assert Image.parse("oci:l:1.2", "/srv") == Image("/srv/l", True, "1.2")
    assert str(Image.parse("oci:/srv/l:v1")) == "oci:/srv/l:v1"
    assert Image.parse("podman:docker.io/library/nginx:1", "/srv") == Image(
        "docker.io/library/nginx:1", engine="podman"
    )
    assert str(Image.parse("containers-storage:nginx")) == "podman:nginx"


def test_the_last_pattern_that_matches_decides() -> None:
    choice = "h*=/a, h3=oci:/b:x"
    assert [images.of_host(choice, host) for host in ("h0", "h3", "s0")] == ["/a", "oci:/b:x", ""]
    assert images.relative_to("h*=a,h3=oci:b", "/srv") == "h*=/srv/a,h3=oci:/srv/b"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("/srv", "image takes HOST=DIR, HOST=oci:DIR:TAG or HOST=podman:NAME, such as h.=web, not '/srv'"),
        ("h9=/srv", "image: no server is named h9"),
        ("h0=", r"image: name a folder, oci:DIR\[:TAG\] or podman:NAME"),
        (
            "h0=oci-archive:a.tar",
            "image: oci-archive:a.tar: write it .* `skopeo copy oci-archive:a.tar oci:DIR`",
        ),
        ("h0=docker://alpine:3", "dcnlab downloads nothing: `docker pull alpine:3`, then docker:alpine:3"),
        ("h0=podman:--all", "give podman:NAME, as `podman image ls` shows it"),
    ],
)
def test_a_wrong_option_is_one_line(option: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        LabConfig.of("bcube:2,1", "brp", image=option).validate()


def test_a_service_names_an_image_that_exists(tmp_path: Path) -> None:
    scenario = {"topology": "bcube:2,1", "scheme": "brp"}
    service = {"on": "h0", "run": ["true"], "image": str(tmp_path / "none")}
    with pytest.raises(UsageError, match=r"^services\[0\].image: there is no folder .*none$"):
        from_values({**scenario, "services": [service]})


# --- layouts ---------------------------------------------------------------------------


def test_an_image_is_chosen_by_its_tag(tmp_path: Path) -> None:
    files = oci.layer({"bin": None})
    path = oci.write(
        tmp_path / "l", {"a": [files], "b": [files, files]}, Env=["A=b=c", "broken"], WorkingDir="/w"
    )
    chosen = layout.read(path, "b")
    assert (len(chosen.layers), chosen.env, chosen.folder) == (2, ("A=b=c",), "/w")
    for tag, says in (
        ("", "2 images: give oci:DIR:TAG, with a tag of a, b"),
        ("c", "no image c: its tags are a, b"),
    ):
        with pytest.raises(UsageError, match=says):
            layout.read(path, tag)


def test_what_is_no_layout_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is no OCI layout: it has no index\.json"):
        layout.read(tmp_path, "")
    for text in ("[]", "{}", '{"manifests": [{"digest": "md5:1"}]}', "{" * 9):
        (tmp_path / "index.json").write_text(text)
        with pytest.raises(UsageError, match=r"^image: "):
            layout.read(tmp_path, "")
    path = oci.write(tmp_path / "l", {"a": [oci.layer({"bin": None})]})
    for blob in (path / "blobs/sha256").iterdir():
        blob.write_bytes(blob.read_bytes() + b" ")
    with pytest.raises(UsageError, match="is damaged: its digest is another"):
        layout.read(path, "a")


# --- container engines -------------------------------------------------------------------


@pytest.fixture
def podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Podman with a storage of this test's own."""
    if os.geteuid() or shutil.which("podman") is None:
        pytest.skip("needs root and podman")
    places = {
        "graphroot": "graph",
        "runroot": "run",
        "tmp_dir": "tmp",
        "static_dir": "static",
        "volume_path": "volumes",
    }
    lines = [f'{key} = "{tmp_path}/{name}"' for key, name in places.items()]
    (tmp_path / "storage.conf").write_text("\n".join(["[storage]", 'driver = "vfs"', *lines[:2]]))
    (tmp_path / "containers.conf").write_text("\n".join(["[engine]", *lines[2:]]))
    for name in ("storage", "containers"):
        variable = "CONTAINERS_STORAGE_CONF" if name == "storage" else "CONTAINERS_CONF"
        monkeypatch.setenv(variable, str(tmp_path / f"{name}.conf"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*words: str) -> str:
        return subprocess.run(["podman", *words], capture_output=True, text=True, check=True).stdout.strip()

    return run


def test_an_image_of_podman_becomes_a_layout_once(podman: Callable[..., str], tmp_path: Path) -> None:
    files = oci.layer({"bin": None, "srv/x": b"of podman"})
    identity = podman("pull", "--quiet", f"oci:{oci.write(tmp_path / 'l', {'v1': [files]}, Env=['A=b'])}:v1")
    podman("tag", identity, "localhost/dcnlab-test:v1")
    image = Image.parse("podman:dcnlab-test:v1")
    exported = engines.exported(image)
    assert exported == engines.exported(image)
    read = layout.read(Path(exported.folder), "")
    assert (len(read.layers), read.env) == (1, ("A=b",))
    assert (cache.unpacked(read) / "srv/x").read_text() == "of podman"
    option = "h0=podman:dcnlab-test:v1,h1=/srv"
    assert engines.of_option(option, images.parse(option)) == f"h0=oci:{exported.folder},h1=/srv"
    program = Program.of(["true"], image="podman:dcnlab-test:v1")
    assert engines.of_program(program).image == f"oci:{exported.folder}"
    with pytest.raises(
        UsageError, match=r"podman:none: podman does not have it \(.*\): `podman pull none` first"
    ):
        engines.exported(Image.parse("podman:none"))


def test_the_images_used_last_stay(tmp_path: Path) -> None:
    """And those used within a day."""
    for number in range(12):
        (folder := tmp_path / f"{number:02}").mkdir()
        (folder / "index.json").touch()
        old = number * 1000 if number < 9 else time.time() - 60
        os.utime(folder, (old, old))
    engines.remove_old(tmp_path)
    assert sorted(one.name for one in tmp_path.iterdir()) == [f"{number:02}" for number in range(4, 12)]
    for number in range(8):
        (tmp_path / f"new {number}").mkdir()
    engines.remove_old(tmp_path)
    left = sorted(one.name for one in tmp_path.iterdir())
    assert left == ["09", "10", "11", *(f"new {number}" for number in range(8))]


def test_without_the_engine_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.programs, "find", lambda name: None)
    with pytest.raises(
        UsageError, match="image: docker:web: docker is not installed: install it, or give a folder"
    ):
        engines.exported(Image.parse("docker:web"))


def test_what_docker_saves_is_a_layout(tmp_path: Path) -> None:
    saved = oci.write(tmp_path / "saved", {"v1": [oci.layer({"bin": None})]})
    for name, says in (("new", ""), ("old", "this Docker saves no OCI layout")):
        if says:
            (saved / "index.json").unlink()
        (folder := tmp_path / name).mkdir()
        with tarfile.open(folder / "archive", "w") as archive:
            archive.add(saved, ".")
        with pytest.raises(UsageError, match=says) if says else contextlib.nullcontext():
            engines.unpack(folder / "archive", folder)
    assert layout.read(tmp_path / "new", "v1").layers


# --- unpacking, which needs root for its chroot -----------------------------------------


@pytest.fixture
def unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Unpack:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def unpacked(*layers: bytes) -> Path:
        path = oci.write(tmp_path / f"layout{len(list(tmp_path.iterdir()))}", {"x": layers})
        return cache.unpacked(layout.read(path, "x"))

    if os.geteuid():
        pytest.skip("only root may change its root")
    return unpacked


def test_upper_layers_replace_and_remove(unpack: Unpack) -> None:
    first = oci.layer(
        {
            "bin": None, "bin/a": b"1", "bin/b": b"1", "etc": None, "etc/x/y": b"1", "lib": None, "lib/z": b"1",
            "usr/bin": None, "sbin": "->/usr/bin", "tmp": None, "file": b"1",
        },
        {"tmp": 0o1777, "bin/a": 0o4755},
    )  # fmt: skip
    second = oci.layer(
        {
            "bin/.wh.b": b"", "bin/a": b"2", "etc/new": b"2", "etc/.wh..wh..opq": b"", ".wh.lib": b"",
            "sbin/tool": b"2", "file": None, "file/in": b"2",
        }
    )  # fmt: skip
    root = unpack(first, second)
    files = [one for one in root.rglob("*") if one.is_symlink() or one.is_file()]
    assert sorted(str(one.relative_to(root)) for one in files) == [
        "bin/a", "etc/new", "file/in", "sbin", "usr/bin/tool",
    ]  # fmt: skip
    assert (root / "bin/a").read_bytes() == b"2"
    assert (root / "tmp").stat().st_mode & 0o7777 == 0o1777
    assert unpack(oci.layer({"bin/a": b"1"}, {"bin/a": 0o6755})).joinpath("bin/a").stat().st_mode & 0o6000 == 0


@pytest.mark.parametrize(
    "layers",
    [
        [{"../outside": b"x"}],
        [{"a/../../outside": b"x"}],
        [{"bin/.wh...": b""}],
    ],
)
def test_names_that_lead_out_are_errors(unpack: Unpack, tmp_path: Path, layers: list[oci.Entries]) -> None:
    with pytest.raises(LabError, match=r"a layer cannot be unpacked: .* leads out of the image"):
        unpack(*map(oci.layer, layers))
    assert not list(tmp_path.rglob("outside"))


def test_links_lead_nowhere_outside(unpack: Unpack, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "kept").write_text("kept")
    outside = f"->{tmp_path}/victim"
    up = "->" + "../" * 30 + str(tmp_path)[1:] + "/victim"
    layers = [
        oci.layer({f"{str(tmp_path)[1:]}/victim": None, "a": outside, "b": up, "bin": None}),
        oci.layer({"a/x": b"x", "b/.wh.kept": b"", "b/y": b"y"}),
    ]
    root = unpack(*layers)
    assert [one.name for one in (tmp_path / "victim").iterdir()] == ["kept"]
    assert (root / str(tmp_path)[1:] / "victim" / "x").read_bytes() == b"x"


def test_what_is_damaged_is_said(unpack: Unpack) -> None:
    with pytest.raises(LabError, match="a layer cannot be unpacked"):
        unpack(oci.layer({"bin/a": os.urandom(9999)})[:600])


# --- in a lab --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image of busybox, in two layers, of which the second removes a file."""
    folder = tmp_path_factory.mktemp("image")
    files = {**oci.busybox(*TOOLS), "srv": None, "srv/index.html": b"from the image\n", "srv/removed": b"x"}
    path = oci.write(
        folder / "layout", {"v1": [oci.layer(files), oci.layer({"srv/.wh.removed": b""})]},
        Env=["PATH=/bin", "OF=image"], WorkingDir="/srv",
    )  # fmt: skip
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    yield f"oci:{path}:v1"
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="module")
def lab(image: str) -> Iterator[Lab]:
    if problem := roots.overlay_problem():
        pytest.skip(problem)
    with Lab("bcube:2,1", "brp", image=f"h1={image},h2={image}") as running:
        yield running


@pytest.mark.lab
def test_programs_of_a_host_see_its_image(lab: Lab) -> None:
    done = lab.run("h1", ["sh", "-c", "pwd; echo $OF; ls; ls /; cat /proc/self/comm"])
    assert done.stdout.split("\n")[:3] == ["/srv", "image", "index.html"], done
    assert "home" not in done.stdout
    assert "cat" in done.stdout
    assert "home" in lab.run("h0", ["ls", "/"]).stdout
    assert lab.run("h1", ["ping", "-c1", "-W9", "h0"]).returncode == 0
    done = lab.run("h1", ["python3"])
    assert (done.returncode, done.stderr) == (127, "dcnlab: command not found in the image: 'python3'\n")
    with pytest.raises(UsageError, match="there is no folder /home in the image"):
        lab.popen("h1", ["ls"], cwd="/home")


@pytest.mark.lab
def test_what_a_host_writes_is_its_own(lab: Lab) -> None:
    assert lab.run("h1", ["sh", "-c", "echo mine > /srv/new && rm index.html"]).returncode == 0
    assert lab.run("h1", ["ls", "/srv"]).stdout == "new\n"
    assert lab.run("h2", ["ls", "/srv"]).stdout == "index.html\n"
    assert lab.run("h1", ["sh", "-c", "echo '<p>' > index.html; rm new"]).returncode == 0


@pytest.mark.lab
def test_a_service_of_an_image_serves_the_network(lab: Lab) -> None:
    lab.serve("web", "h2", ["httpd", "-f", "-p", "80"], ready="tcp:80")
    fetched = lab.popen("h0", ["curl", "-s", "http://h2/"])
    assert (fetched.wait(60), fetched.output()) == (0, "from the image\n")
    with pytest.raises(UsageError, match="all its files for itself"):
        lab.serve("other", "h2", ["sleep", "1"], private=["/tmp"])


@pytest.mark.lab
def test_a_program_alone_gets_an_image(lab: Lab, image: str, tmp_path: Path) -> None:
    program = lab.popen("h0", ["cat", "index.html"], image=image)
    assert (program.wait(60), program.output()) == (0, "from the image\n")
    (tmp_path / "bin").mkdir()
    shutil.copy(shutil.which("busybox") or "", tmp_path / "bin" / "busybox")
    program = lab.popen("h0", ["busybox", "ls"], image=tmp_path)
    assert (program.wait(60), set(program.output().split())) == (0, {"bin", "dev", "etc", "proc", "sys", "tmp"})
    assert {one.name for one in tmp_path.iterdir()} == {"bin"}
    with pytest.raises(UsageError, match="image: there is no folder /nowhere"):
        lab.popen("h0", ["true"], image="/nowhere")


@pytest.mark.lab
def test_a_scenario_runs_services_from_images(image: str) -> None:
    scenario = {
        "topology": "bcube:2,1",
        "scheme": "brp",
        "options": {"image": f"h3={image}"},
        "services": [
            {"name": "web", "on": "h2 h3", "run": "httpd -f -p 80", "ready": "tcp:80", "image": image},
            {"name": "own", "on": "h3", "run": "cat index.html", "at": "0s", "ready": "exit:0"},
            {"name": "get", "on": "h0", "run": "curl -s http://h3/ http://h2/", "at": "0s", "ready": "exit:0"},
        ],
        "expect": ["web.running == 2", "own.exit == 0", "get.exit == 0"],
    }
    assert run_scenario(scenario).held
