"""The screen of ``dcnlab top``: four tables that follow the lab, and keys."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import DataTable, Footer, Static

from dcnlab.lab.errors import LabError
from dcnlab.lab.top.convergence import Change
from dcnlab.lab.top.reader import Reader, Updates
from dcnlab.lab.top.snapshot import LinkLoad, Snapshot, bar, rate

_BAR = 10
_BY_LOAD, _BY_NAME = "Links: down, then by load", "Links by name"
#: Colours of the kinds of events that somebody should see.
_COLOURS = {"alarm": "bold red", "process-ended": "bold red", "link": "yellow", "converged": "green"}
#: The columns of each table.
_COLUMNS = {
    "links": ("link", "a to b", "b to a", "load"),
    "tables": ("switch", "entries", "last change", "flow mods"),
    "changes": ("time", "links", "converged", "agents", "controller", "switches", "flow mods"),
    "events": ("time", "kind", "event"),
}


class Shown(Message):
    """There is a new snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        super().__init__()


class Ended(Message):
    """The lab has ended."""


class Top(App[None]):
    """A lab in the terminal."""

    CSS = """
    #head { height: 1; background: $primary; color: $text; padding: 0 1; }
    DataTable { border: round $primary; height: 1fr; scrollbar-size: 0 1; }
    DataTable:focus { border: round $accent; }
    #upper { height: 3fr; } #events { height: 2fr; }
    #links { width: 2fr; min-width: 44; } #right { width: 3fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "quit", "Quit", key_display="q"),
        Binding("tab", "next_table", "Next", priority=True),
        Binding("c", "change('fail')", "Cut"),
        Binding("r", "change('restore')", "Restore"),
        Binding("s", "sort", "Sort"),
        Binding("p", "pause", "Pause"),
    ]
    TITLE = "dcnlab top"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, reader: Reader, interval: float = 1.0) -> None:
        super().__init__()
        self._reader = reader
        self._updates = Updates(reader, interval, self._received, self._lab_ended)
        self._by_name = self._paused = self._over = False
        self._note = ""
        #: What is on the screen.
        self.snapshot: Snapshot | None = None

    def compose(self) -> ComposeResult:
        """The line at the top, four tables, and the keys."""
        yield Static("", id="head", markup=False)
        with Horizontal(id="upper"):
            yield _table("links", _BY_LOAD)
            with Vertical(id="right"):
                yield _table("tables", "Tables")
                yield _table("changes", "Convergence (ms)")
        yield _table("events", "Events")
        yield Footer()

    def on_mount(self) -> None:
        """Start to follow the lab."""
        self.query_one("#links", DataTable).focus()
        self._updates.start()

    def on_unmount(self) -> None:
        """Stop following it."""
        self._updates.stop()

    # --- from the threads -----------------------------------------------------

    def _received(self, snapshot: Snapshot) -> None:
        self.post_message(Shown(snapshot))

    def _lab_ended(self) -> None:
        self.post_message(Ended())

    def on_shown(self, message: Shown) -> None:
        """Show a snapshot, unless the screen is paused."""
        if not self._paused and self._complete:
            self.snapshot = message.snapshot
            self._draw()

    def on_ended(self) -> None:
        """Say that the lab has ended; what is on the screen stays."""
        self._over = True
        if self._complete:
            self._draw_head()

    @property
    def _complete(self) -> bool:
        """Whether the screen has all its parts: messages still come while it is taken apart."""
        return len(self.query("#head, DataTable")) == 1 + len(_COLUMNS)

    # --- drawing --------------------------------------------------------------

    def _draw(self) -> None:
        if (shown := self.snapshot) is None:
            return
        links = sorted(shown.links, key=lambda link: link.number if self._by_name else link.up)
        most = max((link.mbps for link in links), default=0.0)
        self._fill("links", [(str(link.number), _link(link, most)) for link in links])
        self._fill(
            "tables",
            [(one.switch, (one.switch, str(one.entries), _clock(one.at), str(one.flow_mods or "")))
             for one in shown.tables],
        )  # fmt: skip
        self._fill("changes", [(str(change.at), _change(change)) for change in shown.changes])
        self._fill(
            "events",
            [(str(one.number), (_clock(one.at), Text(one.kind, _COLOURS.get(one.kind, "")), one.event.text()))
             for one in shown.events],
        )  # fmt: skip
        self._draw_head()

    def _draw_head(self) -> None:
        shown, words = self.snapshot, []
        if shown is not None:
            words = [shown.name, f"{shown.topology} with {shown.scheme}"]
            words += [f"{shown.down} of {len(shown.links)} links down", *shown.ended]
        words += [word for word, said in (("the lab has ended", self._over), ("paused", self._paused)) if said]
        self.query_one("#head", Static).update("  ·  ".join([*words, *filter(None, [self._note])]))

    def _fill(self, name: str, rows: Sequence[tuple[str, Sequence[str | Text]]]) -> None:
        """Replace the rows of a table; the cursor stays on the row with its key."""
        table = self.query_one(f"#{name}", DataTable)
        kept, top = self._selected(name), table.scroll_y
        table.clear()
        for key, cells in rows:
            table.add_row(*cells, key=key)
        keys = [key for key, _ in rows]
        if kept in keys:
            table.move_cursor(row=keys.index(kept), scroll=False)
        table.scroll_to(y=top, animate=False)

    def _selected(self, name: str) -> str:
        table = self.query_one(f"#{name}", DataTable)
        if not table.is_valid_row_index(table.cursor_row):
            return ""
        return table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value or ""

    # --- keys -----------------------------------------------------------------

    def action_next_table(self) -> None:
        """Go to the next table."""
        self.screen.focus_next()

    def action_pause(self) -> None:
        """Keep what is on the screen, or go on."""
        self._paused = not self._paused
        self._draw_head()

    def action_sort(self) -> None:
        """Sort links by name, or by load."""
        self._by_name = not self._by_name
        self.query_one("#links", DataTable).border_title = _BY_NAME if self._by_name else _BY_LOAD
        self._draw()

    def action_change(self, what: str) -> None:
        """Cut the selected link, or restore it; the lab answers when it has converged."""
        chosen, links = self._selected("links"), self.snapshot.links if self.snapshot else ()
        link = next((one for one in links if str(one.number) == chosen), None)
        if link is None:
            return
        lab = self._reader.lab
        change = lab.fail if what == "fail" else lab.restore

        def ask() -> None:
            try:
                said = "; ".join(change(link.a, link.b).notes())
            except LabError as error:
                said = str(error)
            if said:
                self.call_from_thread(self._say, said)

        self._say("")
        threading.Thread(target=ask, daemon=True, name="change").start()

    def _say(self, text: str) -> None:
        self._note = text
        self._draw_head()


def _table(name: str, title: str) -> DataTable[str | Text]:
    table: DataTable[str | Text] = DataTable(id=name, cursor_type="row", zebra_stripes=True)
    table.border_title = title
    table.add_columns(*_COLUMNS[name])
    return table


def _link(link: LinkLoad, most: float) -> tuple[str | Text, ...]:
    name = f"{link.a}-{link.b}"
    if not link.up:
        return Text(name, "red"), Text("down", "bold red"), "", ""
    return name, rate(link.to_b_mbps), rate(link.to_a_mbps), bar(link.mbps, most, _BAR)


def _change(change: Change) -> tuple[str | Text, ...]:
    first, more = change.links[0], len(change.links) - 1
    ended: str | Text = Text(change.error, "red") if change.error else _ms(change.converged_ms, "...")
    return (
        _clock(change.at), first + (f" and {more} more" if more else ""), ended,
        _ms(change.agents_ms), _ms(change.controller_ms), str(change.switches), str(change.flow_mods),
    )  # fmt: skip


def _ms(value: float | None, missing: str = "-") -> str:
    return missing if value is None else f"{value:.1f}"


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at)) if at else ""
