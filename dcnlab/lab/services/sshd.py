"""sshd in every host, with a key that is made for the lab: ``ssh h5`` in any host opens a shell in h5.

The keys are in the lab's own ``/run``, so they end with it.  A lab of root has an sshd of root, which may
change users.  The lab of an ordinary user has no other users: sshd runs there as that user.
"""

from __future__ import annotations

import pwd
import subprocess
from pathlib import Path

from dcnlab.lab.emulation import ssh_settings
from dcnlab.lab.errors import LabError
from dcnlab.lab.program import Program
from dcnlab.lab.running.local_machine import LocalMachine
from dcnlab.lab.services.services import Services
from hostagent.linux.mounts import BIND, mount

NAME, SSHD = "sshd", "/usr/sbin/sshd"
_FOLDER, _SHADOW = Path("/run/dcnlab-ssh"), Path("/etc/shadow")
#: Seconds within which all must listen.
_PATIENCE = 120.0
_SERVER = """\
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
Subsystem sftp internal-sftp
"""
_CLIENT = """\
User {user}
IdentityFile {folder}/key
GlobalKnownHostsFile {folder}/known_hosts
UserKnownHostsFile /dev/null
LogLevel ERROR
"""


def start(machine: LocalMachine) -> None:
    """Start them, and return when all listen; LabError, in one line, where one does not."""
    services, fabric = machine.own(Services), machine.fabric
    uid = _outer_uid()
    _write(uid)
    enter = ["unshare", "--user", f"--map-user={uid}", f"--map-group={uid}"] if uid else []
    program = Program((*enter, SSHD, "-D", "-e", "-f", str(_FOLDER / "sshd_config")))
    for server in machine.running.servers:
        services.start(NAME, fabric.name(server), program, "tcp:22", 0)
    for server in machine.running.servers:
        services.wait(NAME, fabric.name(server), _PATIENCE)


def _write(uid: int) -> None:
    """The keys of the lab, and the settings of servers and clients."""
    _FOLDER.mkdir()
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("key", "host"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "dcnlab", "-f", str(_FOLDER / name)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LabError(f"ssh-keygen: {done.stderr.strip() or done.stdout.strip()}")
    public = (_FOLDER / "host.pub").read_text()
    (_FOLDER / "known_hosts").write_text(f"* {public}")
    (_FOLDER / "sshd_config").write_text(_SERVER.format(folder=_FOLDER))
    user = pwd.getpwuid(uid).pw_name
    ssh_settings.install(extra={"dcnlab.conf": _CLIENT.format(folder=_FOLDER, user=user)})
    if not uid:
        _unlock(user)


def _unlock(user: str) -> None:
    """Have sshd let a user in whose password is locked, as root's of Ubuntu: in this mount namespace only."""
    lines = _SHADOW.read_text().splitlines(keepends=True)
    locked, usable = f"{user}:!", f"{user}:*"
    ours = [line.replace(locked, usable, 1) if line.startswith(locked) else line for line in lines]
    if ours != lines:
        copy = _FOLDER / "shadow"
        copy.touch(mode=0o600)
        copy.write_text("".join(ours))
        mount(str(copy), str(_SHADOW), "", BIND)


def _outer_uid() -> int:
    """The user of the machine as whom this process runs."""
    inside, outside, _ = Path("/proc/self/uid_map").read_text().split(None, 2)
    return int(outside) if inside == "0" else 0
