"""Programs in hosts of a lab with ``isolate`` do their work, and cannot leave their host."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcnlab.lab.client import Lab
from dcnlab.lab.emulation.isolation.identities import users
from dcnlab.lab.errors import UsageError
from hostagent.linux import seccomp
from tests.capabilities import lacking
from tests.lab import escape, oci
from tests.lab.terminal import DCNLAB, Terminal
from tests.ordinary import script
from tests.ovs import poll

pytestmark = [pytest.mark.xdist_group("isolation")]

#: The machine's own: nothing else is sure to be seen by other users.
PYTHON = "/usr/bin/python3"
ESCAPE = Path(escape.__file__).read_text()
SERVER = "import http.server as h; h.ThreadingHTTPServer(('', 80), h.SimpleHTTPRequestHandler).serve_forever()"
FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).status)"
NGINX = (
    "user root; daemon off; pid nginx.pid; error_log stderr; events {} http { access_log off; "
    + "".join(f"{kind}_temp_path {kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    + "server { listen 80; root /usr/share; autoindex on; } }"
)
#: In a lab that was launched with another home folder than root's: what is in it, and what a host writes there.
AT_HOME = """
from dcnlab import Lab
with Lab("torus:2", "pow", isolate=True) as lab:
    print(lab.run("h0", ["sh", "-c", "ls -A $HOME"]).stdout.split())
    print(lab.run("h0", ["sh", "-c", "touch $HOME/new && ls $HOME"]).stdout, end="")
    settings = lab.run("h0", ["ssh", "-G", "elsewhere"]).stdout.splitlines()
    print([line for line in settings if line.startswith("port ")])
"""
SHARED = """
import ctypes, errno, json, platform, socket, sys
wrong, allowed = [], json.loads(sys.argv[1])
for family in range(64):
    try:
        socket.socket(family, socket.SOCK_RAW if family in (16, 17, 44) else socket.SOCK_DGRAM).close()
    except OSError as error:
        if family in allowed and error.errno == errno.EAFNOSUPPORT and family != 44:
            wrong.append(family)
        if family not in allowed and error.errno != errno.EAFNOSUPPORT:
            wrong.append((family, error.errno))
    else:
        if family not in allowed:
            wrong.append(("open", family))
call = ctypes.CDLL(None, use_errno=True).syscall
keys = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[platform.machine()]
others = (0x40000000 | 39,) if platform.machine() == "x86_64" else ()
for number in (425, 426, 427, *keys, *others):
    ctypes.set_errno(0)
    if call(number, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.ENOSYS:
        wrong.append((number, ctypes.get_errno()))
print(wrong)
"""
SCRIPT = """
host = net.get("h0")
print("PING", host.cmd("ping -c1 -W5", net.get("h3").IP()))
print("STATUS", host.popen(["sh", "-c", "exit 7"]).wait())
escape = host.popen(["/usr/bin/python3", "-c", open({file!r}).read(), "h0-", "/nowhere"])  # ends the shell
print("OUTSIDE", escape.communicate()[0].decode())
write = "echo of the image > /new && cat /new && ls /"
print("IMAGE", net.get("h2").popen(["sh", "-c", write]).communicate()[0].decode())
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Hosts that are linked directly, so that each has a number for its neighbours' namespaces."""
    with Lab("torus:2x2", "pow", isolate=True) as one:
        yield one


@pytest.mark.lab
def test_what_belongs_to_no_namespace_is_closed(lab: Lab) -> None:
    """Sockets of other families, io_uring, keys of the kernel, calls of another ABI."""
    done = lab.run("h0", [PYTHON, "-c", SHARED, json.dumps(sorted(seccomp.FAMILIES))])
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.lab
def test_nothing_gets_out(lab: Lab) -> None:
    before = os.uname().nodename
    lab.run("h1", ["sh", "-c", "echo theirs > /tmp/file; sleep 7200 >/dev/null 2>&1 </dev/null &"])
    done = lab.run("h0", [PYTHON, "-c", ESCAPE, "h0-", str(lab.path)])
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert "file" not in lab.run("h0", ["ls", "/tmp"]).stdout.split()
    assert "theirs" in lab.run("h1", ["cat", "/tmp/file"]).stdout
    assert "sleep 7200" in lab.run("h1", ["ps", "ax"]).stdout
    assert "sleep 7200" not in lab.run("h0", ["ps", "ax"]).stdout
    assert os.uname().nodename == before
    assert not Path("/escaped").exists()
    assert lab.pingall().lost == []


@pytest.mark.lab
def test_programs_of_networks_work(lab: Lab) -> None:
    assert "1 received" in lab.run("h0", ["ping", "-c1", "-W9", "h3"]).stdout
    assert re.search(r"^ 2  .* ms", lab.run("h0", ["traceroute", "-n", "h3"]).stdout, re.MULTILINE)
    assert lab.run("h3", ["sh", "-c", "iperf3 -s -D"]).returncode == 0

    def sent() -> bool:
        done = lab.run("h0", ["iperf3", "-c", "h3", "-n", "100K", "-J"])
        received = json.loads(done.stdout)["end"].get("sum_received", {}) if done.returncode == 0 else {}
        return bool(received.get("bytes"))

    poll(sent, 60)
    lab.run("h3", ["sh", "-c", f'{PYTHON} -c "{SERVER}" >/dev/null 2>&1 </dev/null &'])
    poll(lambda: lab.run("h0", [PYTHON, "-c", FETCH, "http://h3/"]).stdout == "200\n", 60)
    assert lab.run("h0", ["ip", "addr", "add", "10.9.9.9/32", "dev", "lo"]).stderr == ""
    traffic = "tcpdump -Z root -nc1 -i lo icmp & while kill -0 $! 2>/dev/null; do ping -c1 127.0.0.1; done"
    assert "ICMP echo request" in lab.run("h3", ["sh", "-c", traffic]).stdout
    assert lab.iperf("h0", "h3", seconds=1).mbps > 0
    assert lab.traceroute("h0", "h3").hops


@pytest.mark.lab
def test_nginx_serves_with_files_below_tmp(lab: Lab) -> None:
    """As docs/security.md says: nothing may be written to /var."""
    if not Path("/usr/sbin/nginx").exists():
        lacking("not installed: nginx")
    write = "mkdir /tmp/nginx && cat > /tmp/nginx/nginx.conf"
    with lab.popen("h2", ["sh", "-c", f"echo '{NGINX}' | ({write}) && exec nginx -p /tmp/nginx -c nginx.conf"]):
        poll(lambda: lab.run("h0", [PYTHON, "-c", FETCH, "http://h2/"]).stdout == "200\n", 60)


@pytest.mark.lab
def test_the_limit_of_core_files_is_the_one_that_holds_for_pipes_too(lab: Lab) -> None:
    """A limit of 0 would not (core(5)); tests/vm tries it, where the setting of the machine may change."""
    assert lab.run("h0", ["sh", "-c", "ulimit -Sc; ulimit -Hc"]).stdout.split() == ["0", "0"]  # in blocks
    assert re.search(r"^Max core file size +1 +1 ", lab.run("h0", ["cat", "/proc/self/limits"]).stdout, re.M)


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a folder for the test")
def test_the_home_folder_is_hidden_wherever_it_is() -> None:
    """And ssh reads the machine's settings, which belong to nobody there."""
    home = (
        "mount -t tmpfs none /srv && mkdir /srv/me && echo secret > /srv/me/file && cd / && export HOME=/srv/me"
    )
    ssh = (
        "mkdir /srv/ssh && printf 'Host elsewhere\nPort 2200\n' >/srv/ssh/20-elsewhere.conf"
        " && mount --bind /srv/ssh /etc/ssh/ssh_config.d"
    )
    command = [
        "unshare",
        "-m",
        "bash",
        "-ec",
        f'{home}; {ssh}; exec "$@"',
        "bash",
        sys.executable,
        "-P",
        "-c",
        AT_HOME,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\nnew\n['port 2200']\n", "")


@pytest.mark.lab
def test_a_program_starts_where_the_lab_was_launched_and_ends_as_it_should(lab: Lab) -> None:
    assert lab.run("h0", ["pwd"]).stdout.strip() in (os.getcwd(), "/")
    assert lab.run("h0", ["sh", "-c", "exit 7"]).returncode == 7
    assert lab.run("h0", ["sh", "-c", "kill -KILL $$"]).returncode == 128 + signal.SIGKILL
    assert lab.run("h0", ["nothing-like-that"]).returncode == 127
    core = "cd /tmp && mkdir core && cd core && { sh -c 'kill -ABRT $$'; ls; }"
    assert lab.run("h0", ["sh", "-c", core]).stdout == ""
    words = [*DCNLAB, "exec", lab.config.name, "h0", "ping", "-i0.2", "h3"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ping:
        assert ping.stdout is not None
        assert any("icmp_seq=" in line for line in ping.stdout)
        ping.send_signal(signal.SIGINT)
        assert any("packets transmitted" in line for line in ping.stdout)
        assert ping.wait() == 0


def python_image(folder: Path) -> Path:
    """A root file system with no more of the machine than its Python and what the escape needs of it."""
    loaded = (
        "import __future__, ctypes, json, signal, socket, struct, pathlib, sys\n"
        "print(*(getattr(one, '__file__', None) or '' for one in sys.modules.values()), sep='\\n')"
    )
    done = subprocess.run([PYTHON, "-S", "-c", loaded], capture_output=True, text=True, check=True)
    files = {PYTHON, *filter(None, done.stdout.splitlines())}
    binaries = [one for one in files if not one.endswith(".py")]
    linked = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=True).stdout
    for one in files | set(re.findall(r"(/\S+) \(0x", linked)):
        target = folder / one.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(one, target)
    return folder


@pytest.mark.lab
def test_nothing_gets_out_of_an_image(lab: Lab, tmp_path: Path) -> None:
    """What a host writes into its image it keeps for itself."""
    image = python_image(tmp_path / "image")
    lab.run("h1", ["sh", "-c", "sleep 7200 >/dev/null 2>&1 </dev/null &"])
    words = [PYTHON, "-S", "-c", ESCAPE, "h0-", str(lab.path)]
    program = lab.popen("h0", words, image=image)
    assert (program.wait(60), set(json.loads(program.output()))) == (
        0,
        {"foreign programs", "write /usr/escaped", "write /escaped"},  # its own first process, its own files
    )
    assert not Path("/usr/escaped").exists()
    assert not (image / "escaped").exists()
    read = lab.popen("h0", [PYTHON, "-S", "-c", "import os; print(os.listdir('/'))"], image=image)
    assert read.wait(60) == 0
    assert "escaped" in read.output()
    assert "escaped" not in lab.run("h0", ["ls", "/"]).stdout
    assert "sleep 7200" in lab.run("h1", ["ps", "ax"]).stdout


@pytest.mark.lab
def test_services_of_isolated_hosts_have_images(lab: Lab, tmp_path: Path) -> None:
    files = {**oci.busybox("sh", "httpd", "ping"), "srv": None, "srv/index.html": b"from the image\n"}
    layout = oci.write(tmp_path / "layout", {"v1": [oci.layer(files)]}, Env=["PATH=/bin"], WorkingDir="/srv")
    image = f"oci:{layout}"
    write = "echo changed > /srv/new && mv /srv/new index.html && ping -c1 -W9 h3 && exec httpd -f -p 80"
    lab.serve("web", "h2", ["sh", "-c", write], ready="tcp:80", image=image)
    assert lab.run("h0", ["curl", "-s", "http://h2/"]).stdout == "changed\n"
    missing = lab.popen("h1", ["sh", "-c", "nothing; exit 7"], image=image)
    assert missing.wait(60) == 7
    with pytest.raises(UsageError, match="command not found in the image: 'python3'"):
        lab.popen("h1", ["python3"], image=image)


@pytest.mark.lab
def test_a_shell_in_a_terminal_has_job_control(lab: Lab) -> None:
    terminal = Terminal(*DCNLAB, "exec", lab.config.name, "h0", "bash", "--norc")
    terminal.wait_for(r"\$ |# ")
    terminal.type("sleep 3600 & jobs; tty; echo done\r")
    terminal.wait_for(r"Running +sleep 3600(?s:.)*\ndone")
    terminal.type("kill %1; exit 3\r")
    assert terminal.code() == 3


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs all other tests already")
def test_an_ordinary_user_isolates_as_well(open_path: Path) -> None:
    """Through a Mininet script, whose shells are isolated too."""
    file = open_path / "script.py"
    file.write_text(SCRIPT.format(file=escape.__file__))
    for name, content in oci.busybox("sh", "cat", "ls").items():
        path = open_path / "image" / name
        if content is None:
            path.mkdir(parents=True)
        elif isinstance(content, str):
            path.symlink_to(content.removeprefix("->"))
        else:
            path.write_bytes(content)
            path.chmod(0o755)
    options = ["--isolate", "--image", f"h2={open_path}/image", "--script", str(file)]
    words = [sys.executable, "-m", "dcnlab.cli", "up", "bcube:2,1", *options]
    command = ["unshare", "-m", "bash", "-c", script(open_path), "bash", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^OUTSIDE \[\]$", done.stdout, re.MULTILINE), done.stdout
    assert "1 received" in done.stdout
    assert "STATUS 7" in done.stdout
    assert "IMAGE of the image\nbin\ndev\netc\nnew\nproc\n" in done.stdout
    assert not (open_path / "image" / "new").exists()


@pytest.mark.parametrize(
    ("mapped", "root"),
    [
        ("0 0 4294967295", [1_879_048_192, 1_879_113_728, 1_879_048_192]),
        ("0 100000 65536", [65_534] * 3),
        ("0 1000 1", [0] * 3),
    ],
)
def test_who_is_root_in_a_host(mapped: str, root: list[int]) -> None:
    assert [users(host, mapped)[1] for host in (0, 1, 4095)] == root
