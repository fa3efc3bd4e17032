"""What a conducted measurement does on a machine, for the coordinator of a lab on several, as messages.

The coordinator sends ``{"prepare": {...}}`` with the arguments of :meth:`Place.prepared`.  Then come for each
program ``{"program": number, "name": ...}``, ``{"program": number, "line": ...}`` and at last
``{"program": number, "end": true}``.  It hears ``{"prepared": true}``, and of each program
``{"program": number, "line": {...}}`` or ``"error"``.

``{"ask": number, "method": ..., "words": {...}}`` calls a method of the measurement's side; it hears
``{"answer": number, "value": ...}``, or ``"error"`` with its ``"code"``.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dcnlab.lab.errors import LabError
from dcnlab.lab.instruments.flow_place import Place, Program

if TYPE_CHECKING:
    pass


def relay(place: Place, context: Any) -> None:
    """Run what the coordinator asks for, until it leaves or says that it is done."""
    programs: dict[int, tuple[Program, contextlib.ExitStack]] = {}
    with contextlib.ExitStack() as everything:
        for message in context.messages():
            if "stop" in message:
                return
            if (wanted := message.get("prepare")) is not None:
                pair = tuple(wanted["pair"])
                everything.enter_context(
                    place.prepared(wanted["transport"], wanted["cc"], wanted["servers"], pair)
                )
                context.tell({"prepared": True})
                continue
            if "ask" in message:
                threading.Thread(target=_answer, args=(message, place, context), daemon=True).start()
                continue
            number = int(message["program"])
            if "name" in message:
                own = everything.enter_context(contextlib.ExitStack())
                programs[number] = own.enter_context(place.program(message["name"])), own
                threading.Thread(target=_tell, args=(number, programs[number][0], context), daemon=True).start()
            elif "line" in message:
                programs[number][0].write(message["line"])
            else:
                programs[number][1].close()


def _answer(message: Mapping[str, Any], place: Place, context: Any) -> None:
    """Answer a question, in a thread of its own: some take long."""
    found: dict[str, Any]
    try:
        found = {"value": place.ask(message["method"], **message["words"])}
    except LabError as error:
        found = {"error": str(error), "code": error.exit_code}
    except Exception as error:  # the coordinator must not wait for ever
        found = {"error": f"{type(error).__name__}: {error}", "code": LabError.exit_code}
    with contextlib.suppress(OSError):  # the coordinator has left
        context.tell({"answer": message["ask"], **found})


def _tell(number: int, program: Program, context: Any) -> None:
    """Tell what a program prints, until it ends."""
    with contextlib.suppress(OSError, ValueError):  # the coordinator has left, or the program was ended
        while True:
            line: dict[str, Any]
            try:
                line = {"line": program.next()}
            except LabError as error:
                line = {"error": str(error)}
            context.tell({"program": number, **line})
            if "error" in line:
                return
