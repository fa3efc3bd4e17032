// Two servers in the side panel: the path as the tables have it, a real packet, parallel paths, measurements.

import { LINES } from "./colouring.js";
import { lineChart } from "./charts.js";
import { distances } from "./distances.js";
import { brief, button, count, element } from "./dom.js";
import { ask } from "./source.js";

const WATCH = 2000; // milliseconds between two pings

export class Pair {
  constructor(panel, box, a, b) {
    // How often something was asked that is shown in place of the tables' path, whether it is being asked, and
    // what is shown so.
    Object.assign(this, { panel, box, a, b, model: panel.model, asked: 0, busy: false, shown: null });
    this.ends = { a: this.model.name(a), b: this.model.name(b) };
  }

  // Shows the pair; returns the steps of its path.
  async show() {
    const { box, ends, panel } = this;
    element(box, "h2", {}, `${ends.a} → ${ends.b}`);
    if (panel.isRecording) {
      element(box, "p", { class: "quiet" }, "A recording has no paths: they are asked of a running lab.");
      return [];
    }
    const steps = await this.path();
    this.length = element(box, "p", { class: "quiet" });
    this.actions();
    this.charts();
    this.list = element(box, "ol", { id: "steps" });
    this.byTables(steps);
    return steps;
  }

  path() { return ask(`paths/${this.ends.a}/${this.ends.b}`); }

  byTables(steps) {
    this.length.textContent = this.lengthOf(steps);
    this.list.replaceChildren();
    for (const step of steps) this.step(step, step.node);
  }

  // Links have changed: returns the steps of the path again, but null while something else is asked or shown.
  // A packet is traced through the network as it then is, and its answer is not replaced.
  async refresh() {
    const asked = this.asked;
    if (this.panel.isRecording || this.busy) return null;
    const steps = await this.path().catch((error) => { this.said.textContent = error.message; });
    if (!steps || this.asked !== asked || !this.box.isConnected) return null;
    if (this.shown) this.said.textContent = `Links have changed since ${this.shown}.`;
    this.shown = null;
    this.byTables(steps);
    return steps;
  }

  lengthOf(steps) {
    if (!steps.at(-1).delivered) return "not delivered with the present failures";
    return `${this.measured(steps.length - 1)}, by the tables`;
  }

  measured(length) {
    const shortest = distances(this.model, this.a, this.model.down)[this.b];
    return `${count(length, "link")}, shortest path ${shortest}, stretch ${(length / shortest).toFixed(2)}`;
  }

  step({ reason, entry, overrides }, title) {
    const item = element(this.list, "li");
    element(item, "strong", {}, `${title} `);
    item.append(brief(reason).replaceAll("->", "→")); // no line ends within an arrow
    if (entry) element(item, "code", {}, brief(entry));
    if (overrides) element(item, "code", {}, `overrides: ${brief(overrides)}`);
  }

  // --- what can be done -----------------------------------------------------------

  actions() {
    const { box, ends } = this, doing = element(box, "p");
    this.said = element(box, "p", { class: "quiet", role: "status" });
    this.action(doing, "Trace a packet", "trace", () => this.instead("the packet was traced", () => this.trace()));
    this.action(doing, "Parallel paths", "parallel", () => this.instead("the paths were found", () => this.parallel()));
    this.action(doing, "ping", "ping", () => this.measure("ping", { pairs: [[ends.a, ends.b]] }));
    this.action(doing, "iperf", "iperf", () => this.measure("iperf", ends));
    const label = element(doing, "label", { class: "watch" }), watch = element(label, "input", { type: "checkbox", id: "watch" });
    label.append(" ping every 2 s");
    watch.addEventListener("change", () => this.watch(watch));
  }

  action(parent, text, id, run) {
    const made = button(parent, text, async () => {
      made.disabled = true;
      this.said.textContent = `${text} …`;
      try {
        this.said.textContent = await run();
      } catch (error) {
        this.said.textContent = error.message;
      }
      made.disabled = false;
    }, { id });
  }

  async instead(shown, run) {
    this.asked += 1;
    this.busy = true;
    try {
      const said = await run();
      this.shown = shown;
      return said;
    } finally {
      this.busy = false;
    }
  }

  async measure(name, body) {
    const { figures } = await ask(`measurements/${name}`, "POST", body);
    return Object.entries(figures).map(([key, value]) => `${key} ${value}`).join(", ");
  }

  async watch(box) {
    while (box.checked && box.isConnected) {
      await this.measure("ping", { pairs: [[this.ends.a, this.ends.b]] }).catch((error) => { this.said.textContent = error.message; });
      await new Promise((resolve) => { setTimeout(resolve, WATCH); });
    }
  }

  charts() {
    const place = element(this.box, "div"), { a, b } = this.ends;
    this.panel.keepUp(() => {
      place.replaceChildren();
      const points = this.model.pings((pairs) => pairs.some(([from, to]) => from === a && to === b));
      if (points.length) lineChart(place, points, "RTT", { axis: this.panel.axis(), words: (ms) => `${ms.toFixed(2)} ms`, least: 1 });
    });
  }

  // --- a real packet, and parallel paths --------------------------------------------

  // The nodes where one real packet was seen, with the times and the entries that decided.
  async trace() {
    const { hops, rtt_ms } = await ask("measurements/trace", "POST", this.ends);
    this.list.replaceChildren();
    for (const hop of hops) this.step(hop, `${hop.node} ${hop.port ? `+${hop.ms.toFixed(2)} ms` : ""}`);
    this.panel.playPacket(hops);
    this.length.textContent = `${this.measured(hops.length - 1)}, by a real packet`;
    return rtt_ms === null ? "The packet was not answered." : `answered after ${rtt_ms.toFixed(2)} ms`;
  }

  async parallel() {
    const paths = await ask(`paths/${this.ends.a}/${this.ends.b}/parallel`), shortest = paths[0].links.length;
    this.list.replaceChildren();
    paths.forEach(({ nodes, links, up }, index) => {
      const item = element(this.list, "li", { class: "parallel" });
      element(item, "i").style.background = LINES[index % LINES.length];
      element(item, "strong", {}, `${count(links.length, "link")}, stretch ${(links.length / shortest).toFixed(2)}`);
      element(item, "code", {}, `${nodes.join(" ")}${up ? "" : " (a link is down)"}`);
    });
    this.panel.showPaths(paths.map(({ links }) => links));
    return `${count(paths.length, "path")} that share no inner node`;
  }
}
