// The side panel: what is chosen, with its load, its table, its path, and what can be done with it.

import { convergenceChart, lineChart, loadChart } from "./charts.js";
import { impairForm, linkImpairments, scenarioForm, verifyForm } from "./doing.js";
import { bits, brief, button, clockTime, count, element, keep } from "./dom.js";
import { Journal } from "./journal.js";
import { Pair } from "./pair.js";
import { ask, file } from "./source.js";

const MOST_ROWS = 40;

export class Panel {
  // `actions`: refresh(), chooseEvent(event), showArrows(arrows), showPaths(paths), playPacket(hops),
  // openTerminal(node), axis(), hasCut(links, undo); and isRecording.
  constructor(box, model, actions) {
    Object.assign(this, { box, model, ...actions });
    this.serial = 0;
  }

  // Show a choice: {nodes, link, event}.  Returns the steps of a path, or null when another choice came.
  async show(choice) {
    const serial = this.serial += 1, box = document.createElement("div");
    this.live = [];
    this.pair = null; // the pair that is shown
    let steps = [], pair = null;
    try {
      if (choice.event) this.event(box, choice.event);
      else if (choice.link !== null) this.link(box, choice.link);
      else if (choice.nodes.length === 2) steps = await (pair = new Pair(this, box, ...choice.nodes)).show();
      else if (choice.nodes.length === 1) await this.node(box, choice.nodes[0]);
      else this.lab(box);
    } catch (error) {
      element(box, "p", { class: "problem" }, error.message);
    }
    if (serial !== this.serial) return null;
    this.box.replaceChildren(box);
    this.pair = pair;
    return steps;
  }

  // Another state: what is shown of it.
  update() {
    for (const paint of this.live ?? []) paint();
  }

  keepUp(paint) {
    this.live.push(paint);
    paint();
  }

  chart(box, links, title) {
    const place = element(box, "div");
    this.keepUp(() => {
      place.replaceChildren();
      loadChart(place, this.model.series(links), title, this.axis());
    });
  }

  // Charts of what is there: round-trip times of pings, packets that wait.
  moreCharts(box, { pings = null, ports = [], servers = [], places = servers }) {
    const place = element(box, "div"), { model } = this;
    const paint = (points, title, words, least = 10) => { if (points.length) lineChart(place, points, title, { axis: this.axis(), words, least }); };
    this.keepUp(() => {
      place.replaceChildren();
      if (pings) paint(model.pings(pings), "RTT of pings, median", (ms) => `${ms.toFixed(2)} ms`, 1);
      if (pings) paint(model.losses(pings), "packets lost by pings and streams", (share) => `${share.toFixed(1)} %`);
      if (places?.length !== 0) paint(someIn(model.overrunSeries(places)), "packets not read in time (overruns)", (number) => `${number} in a second`);
      paint(model.queueSeries(ports), "packets that wait at ports", (number) => String(number));
      paint(model.bufferSeries(servers), "packets in buffers of agents", (number) => String(number));
      paint(model.creditSeries(ports), "credits used", (number) => String(number));
    });
  }

  // --- the lab ------------------------------------------------------------------

  lab(box) {
    const { model } = this;
    this.chart(box, null, "traffic on all links");
    this.moreCharts(box, {
      pings: () => true, places: null, servers: model.nodes.filter(({ kind }) => kind === "server").map(({ name }) => name),
      ports: model.nodes.flatMap(({ name }, node) => model.ports[node].map(({ port }) => `${name}:${port}`)),
    });
    const journal = new Journal(element(box, "ol", { class: "latest" }), model, this.chooseEvent);
    this.keepUp(() => journal.update());
    if (this.isRecording) return;
    verifyForm(box, (path) => this.showNodes(path));
    scenarioForm(box);
  }

  // The links between nodes that follow each other, named.
  showNodes(path) {
    const numbers = path.map((name) => this.model.nodes.findIndex((node) => node.name === name));
    const links = numbers.slice(1).map((node, place) => this.model.between(numbers[place], node));
    this.showPaths([links.filter((link) => link !== null)]);
  }

  // --- an event -------------------------------------------------------------------

  event(box, event) {
    element(box, "h2", {}, event.kind.replace("-", " "));
    element(box, "p", { class: "quiet" }, clockTime(event.at));
    element(box, "p", {}, event.text);
    if (event.kind === "configured") this.configuration(box, event);
    const parts = ["link", "learned", "tables", "ordered", "converged"].includes(event.kind) ? this.model.episode(event) : [];
    if (parts.length > 1) this.convergence(box, parts);
  }

  // Which server was configured when: the slowest first.
  configuration(box, { servers }) {
    element(box, "p", { class: "quiet" }, "The colours show when each server was configured.");
    const table = element(box, "table"), rows = Object.entries(servers).sort(([, one], [, other]) => other - one);
    for (const [name, ms] of rows.slice(0, MOST_ROWS)) {
      const row = element(table, "tr");
      element(row, "td", {}, name);
      element(row, "td", {}, `${ms.toFixed(2)} ms`);
    }
  }

  convergence(box, parts) {
    element(box, "h3", {}, "Convergence: who learned of it when");
    const shown = parts.length > MOST_ROWS ? [...parts.slice(0, MOST_ROWS - 1), parts.at(-1)] : parts;
    convergenceChart(box, shown, who);
    const hidden = parts.length - shown.length;
    if (hidden) element(box, "p", { class: "quiet" }, `${count(hidden, "event")} between the last two not shown`);
    for (const { begun, ended } of this.model.during(parts[0].clock, parts.at(-1).clock)) {
      const { sent, lost = sent - ended.figures.received, outage_ms } = ended.figures;
      if (Number.isNaN(lost) || lost === undefined) continue;
      const { a = "", b = "" } = begun.arguments, between = a && b ? ` ${a} → ${b}` : "";
      const outage = !outage_ms ? "" : `, no packet for ${outage_ms} ms`;
      element(box, "p", { class: "lost" }, `${ended.name}${between} meanwhile: ${lost} of ${sent} packets lost${outage}`);
    }
  }

  // --- a link -----------------------------------------------------------------------

  link(box, number) {
    const { model } = this, link = model.links[number];
    element(box, "h2", {}, model.linkName(number));
    element(box, "p", { class: "quiet" },
      `port ${link.a_port} of ${model.name(link.a)}, port ${link.b_port} of ${model.name(link.b)}`);
    const table = element(box, "table");
    this.linkRow(table, number, link.a, `${model.name(link.a)} → ${model.name(link.b)}`);
    this.linkRow(table, number, link.b, `${model.name(link.b)} → ${model.name(link.a)}`);
    this.channels(box, number);
    this.chart(box, [number], "both directions");
    const ends = [model.name(link.a), model.name(link.b)];
    this.moreCharts(box, {
      pings: (pairs) => pairs.some((pair) => ends.every((end) => pair.includes(end))),
      ports: [`${ends[0]}:${link.a_port}`, `${ends[1]}:${link.b_port}`],
    });
    this.cutButton(element(box, "p"), number);
    if (this.isRecording) return;
    const state = element(box, "p", { class: "quiet", role: "status" }), name = `${model.name(link.a)}-${model.name(link.b)}`;
    linkImpairments(state, model.name(link.a), model.name(link.b));
    impairForm(box, name, state);
  }

  linkRow(table, number, from, text, both = false) {
    const row = element(table, "tr"), direction = from === this.model.links[number].a ? 0 : 1;
    element(row, "td", {}, text);
    const cell = element(row, "td", { "data-link": number });
    this.keepUp(() => {
      const out = bits(this.model.rate(number, direction)), back = bits(this.model.rate(number, 1 - direction));
      cell.textContent = this.model.down.has(number) ? "cut" : both ? `${out} out, ${back} in` : out;
    });
    return row;
  }

  // Credits that are used and packets that wait, by virtual channel: each with a bar as full as it is.
  channels(box, number) {
    const table = element(box, "table", { class: "channels" });
    this.keepUp(() => {
      table.replaceChildren();
      for (const { from, to, channel, waiting, used, limit } of this.model.channelsOf(number).slice(0, MOST_ROWS)) {
        const row = element(table, "tr");
        element(row, "td", {}, to ? `${from} → ${to}, ${channel}` : from);
        this.meter(row, to ? `${used} of ${limit} credits used` : "", used / limit);
        this.meter(row, `${waiting} of ${limit} wait at ${from}`, waiting / limit);
      }
    });
  }

  meter(row, text, share) {
    const cell = element(row, "td", {}, text);
    if (text) element(element(cell, "i", { class: "meter" }), "i").style.width = `${Math.round(100 * Math.min(1, share))}%`;
  }

  cutButton(parent, number) {
    if (this.isRecording) return;
    const isDown = this.model.down.has(number);
    const words = isDown ? { class: "restore" } : { class: "cut" };
    button(parent, isDown ? "Restore" : "Cut", () => this.change(`links/${number}/${isDown ? "restore" : "fail"}`),
      { ...words, "aria-label": `${isDown ? "Restore" : "Cut"} ${this.model.linkName(number)}` });
  }

  // Have the lab do something that changes links.
  async change(path) {
    const buttons = this.pair ? [] : this.box.querySelectorAll("button"); // a pair stays: it follows by itself
    for (const one of buttons) one.disabled = true;
    let problem = "";
    const done = await ask(path, "POST").catch((error) => { problem = error.message; });
    const stays = (done?.still_down ?? []).slice(0, MOST_ROWS); // a link that another cause keeps down
    const undo = !problem && path.endsWith("/fail") ? path.replace(/fail$/, "restore") : null;
    problem ||= stays.map((one) => `${one.link.join("-")} stays down: ${one.because.join(", ")}`).join("; ");
    await this.refresh();
    if (undo) this.hasCut(done.links, () => this.change(undo));
    if (problem) element(this.box, "p", { class: "problem", role: "alert" }, problem);
  }

  // --- a node -----------------------------------------------------------------------

  async node(box, number) {
    const { model } = this, node = model.nodes[number], ports = model.ports[number];
    element(box, "h2", {}, node.name);
    element(box, "p", { class: "quiet" }, [node.kind, node.label, node.ipv4].filter(Boolean).join(" · "));
    if (!this.isRecording) {
      const doing = element(box, "p");
      if (node.kind === "server") button(doing, "Next hops to it", () => this.nextHops(node), { id: "next-hops" });
      button(doing, "Cut all its links", () => this.change(`nodes/${node.name}/fail`), { class: "cut" });
      button(doing, "Terminal", () => this.openTerminal(node.name), { id: "open-terminal" });
      this.captureButton(doing, node.name);
      if (ports.some(({ index }) => model.down.has(index))) {
        button(doing, "Restore all", () => this.change(`nodes/${node.name}/restore`), { class: "restore" });
      }
    }
    const table = element(box, "table");
    for (const { index, port, peer } of ports.slice(0, MOST_ROWS)) {
      const row = this.linkRow(table, index, number, `port ${port} → ${model.name(peer)}`, true);
      this.cutButton(element(row, "td"), index);
    }
    if (ports.length > MOST_ROWS) element(box, "p", { class: "quiet" }, `and ${ports.length - MOST_ROWS} more ports`);
    this.chart(box, ports.map(({ index }) => index), "all its links");
    this.moreCharts(box, {
      pings: (pairs) => pairs.some((pair) => pair.includes(node.name)), servers: [node.name],
      ports: ports.map(({ port }) => `${node.name}:${port}`),
    });
    if (!this.isRecording) await this.table(box, node);
  }

  // Packets of the next seconds, as a file.
  captureButton(parent, node) {
    const made = button(parent, "Capture 5 s", async () => {
      made.disabled = true;
      made.textContent = "Capturing …";
      try {
        keep(await file(`nodes/${node}/capture?seconds=5`), `${node}.pcapng`);
      } catch (error) {
        element(this.box, "p", { class: "problem", role: "alert" }, error.message);
      }
      made.textContent = "Capture 5 s";
      made.disabled = false;
    }, { id: "capture" });
  }

  // Arrows at every node towards this one.
  async nextHops({ name }) {
    const serial = this.serial, found = await ask(`next-hops/${name}`), arrows = [];
    if (serial !== this.serial) return;
    for (const [node, shares] of Object.entries(found)) {
      const from = this.model.numbers.get(node);
      for (const [link, weight] of Object.entries(shares)) arrows.push({ from, link: Number(link), weight });
    }
    this.showArrows(arrows);
  }

  async table(box, node) {
    const found = await ask(`nodes/${encodeURIComponent(node.name)}/table`);
    const lines = found.installed ?? found.predicted;
    const verdict = found.equal === null ? "" : found.equal ? ", installed as predicted" : ", NOT as predicted";
    const entries = lines.length === 1 ? "1 entry" : `${lines.length || "no"} entries`;
    element(box, "p", { class: "quiet" }, lines.length ? entries + verdict : entries);
    if (lines.length) element(box, "pre", {}, lines.map(brief).join("\n"));
  }
}

// Points of which one at least is not 0; else none, and so no chart.
const someIn = (points) => points.some(({ value }) => value > 0) ? points : [];

function who(event) {
  switch (event.kind) {
    case "link": return `${event.reporter} ${event.up ? "up" : "down"}`;
    case "learned": return event.who;
    case "tables": return `${event.switch} table`;
    default: return event.kind;
  }
}
