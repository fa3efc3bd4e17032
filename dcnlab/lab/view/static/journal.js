// The journal as a reader wants it: a line per command, measurement and failure, which expands to what belongs to it.

import { brief, button, clockTime, element } from "./dom.js";
import { eventText } from "./model.js";

const BEGIN = { command: "command", measurement: "measurement" };
const END = { "command-ended": "command", "measurement-ended": "measurement" };
const CAUSED = ["link", "learned", "tables", "converged", "switch"];
const SHOWN = 8;

// [{main, parts}], the oldest first: `main` is how it ended, or what it is until then; `parts` are all its events.
export function chapters(events) {
  const found = [], open = new Map(); // by the number of the event that began it
  let failure = null;                 // links change without a command
  for (const event of events) {
    const begun = END[event.kind] && open.get(event[END[event.kind]]);
    if (begun) {
      begun.parts.push(event);
      begun.main = event;
      open.delete(event[END[event.kind]]);
      continue;
    }
    const command = [...open.values()].findLast(({ main }) => main.kind === "command");
    const owner = CAUSED.includes(event.kind) ? command ?? failure : null;
    if (owner) owner.parts.push(event);
    else found.push({ main: event, parts: [event] });
    if (BEGIN[event.kind]) open.set(event.number, found.at(-1));
    if (!owner && event.kind === "link") failure = found.at(-1);
    if (owner && owner === failure && event.kind === "converged") failure = null;
  }
  return found;
}

export const sentence = ({ main, parts }) => {
  const converged = main.kind === "link" && parts.find(({ kind }) => kind === "converged");
  return brief(converged ? `${eventText(main)}. ${eventText(converged)}` : eventText(main));
};

export const hasFailed = (event) => Boolean(event.error) || event.figures?.failed > 0
  || ["alarm", "process-ended"].includes(event.kind);

export class Journal {
  // `choose(event)` shows an event.
  constructor(list, model, choose) {
    Object.assign(this, { list, model, choose, open: new Set(), shown: null });
  }

  update() {
    const { model } = this, last = chapters(model.events.filter((event) => event.clock <= model.shown)).slice(-SHOWN).reverse();
    const key = last.map(({ main, parts }) => `${main.number} ${parts.length} ${this.open.has(parts[0].number)}`).join();
    if (key === this.shown) return;
    this.shown = key;
    this.list.replaceChildren();
    for (const chapter of last) this.chapter(chapter);
  }

  chapter(chapter) {
    const { main, parts } = chapter, item = element(this.list, "li"), number = parts[0].number, isOpen = this.open.has(number);
    element(item, "time", {}, clockTime(parts[0].at));
    button(item, sentence(chapter), () => this.choose(main), { class: hasFailed(main) ? "plain problem" : "plain" });
    if (parts.length < 2) return;
    const words = `${isOpen ? "Hide" : "Show"} its ${parts.length} events`;
    button(item, isOpen ? "▾" : `▸ ${parts.length}`, () => {
      if (isOpen) this.open.delete(number); else this.open.add(number);
      this.update();
    }, { class: "more", "aria-expanded": isOpen, "aria-label": words, title: words });
    if (!isOpen) return;
    const rows = element(item, "ol");
    for (const event of parts) {
      const row = element(rows, "li");
      element(row, "time", {}, `${(1000 * (event.clock - parts[0].clock)).toFixed(1)} ms`);
      button(row, brief(eventText(event)), () => this.choose(event), { class: hasFailed(event) ? "plain problem" : "plain" });
    }
  }
}
