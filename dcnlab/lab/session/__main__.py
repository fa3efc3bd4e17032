"""``python -m dcnlab.lab.session``, started by init inside the lab's sandbox: launch, then serve."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
from typing import Any

from controller.client import ControllerError
from dcnlab.lab import rpc
from dcnlab.lab.config import LabConfig
from dcnlab.lab.emulation import hosts, programs
from dcnlab.lab.errors import LabError
from dcnlab.lab.running.lab import RunningLab
from hostagent.client import AgentError
from topos import plugins


def _reset_signal_handlers() -> None:
    """Let programs that are started from now on end by Ctrl-C and by hang-ups, which the guard ignores
    and with it agents and controller: being ignored is inherited, a handler (even of nothing) is not."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)


def main() -> None:
    """Launch, report, serve until ``down`` (or run the prompt in the foreground)."""
    request = json.loads(sys.argv[1])
    status = os.fdopen(request["status"], "w", buffering=1)
    listener = socket.socket(fileno=request["listener"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    programs.extend_path()

    def tell(**words: Any) -> None:
        with contextlib.suppress(OSError):
            status.write(json.dumps(words) + "\n")

    try:
        session = RunningLab(LabConfig.from_json(request["config"]), lambda stage: tell(stage=stage))
    except LabError as error:
        tell(error=str(error), code=error.exit_code)
        sys.exit(error.exit_code)
    except (AgentError, ControllerError) as error:
        tell(error=str(error), code=1)
        sys.exit(1)
    except Exception as error:
        custom = plugins.custom_error(error)
        tell(error=custom or f"{type(error).__name__}: {error}", code=2 if custom else 1)
        raise
    _reset_signal_handlers()
    running = session.running
    hosts.install(running.scheme)
    tell(ready=True, seconds=running.seconds, datapath=running.datapath, aacm=running.aacm)
    from dcnlab.lab.session import operations  # measurements, which a launch does not wait for

    server = threading.Thread(
        target=rpc.serve, args=(listener, operations.table(session), session.stop), daemon=True
    )
    server.start()
    if request["prompt"]:
        from dcnlab.lab.session import prompt

        prompt.run(session)
    else:
        session.stop.wait()
    session.stop.set()
    server.join()
    os._exit(0)


if __name__ == "__main__":
    main()
