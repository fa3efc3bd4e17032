// What the page knows: the network, the states of the last minutes, the events; and the time that it shows.

import { episodesOf, ratesAt } from "./episodes.js";
import { bitsOf, impairmentWords } from "./looks.js";

const MOST_EVENTS = 20_000, MOST_STATES = 900, MOST_RATES = 6e6;

export class Model {
  constructor(drawing) {
    const { name, ...rest } = drawing;
    Object.assign(this, rest, { title: name }); // topology, scheme, nodes, links; `name` is a method
    this.numbers = new Map(this.nodes.map((node, number) => [node.name, number]));
    this.ports = this.nodes.map(() => []);
    this.links.forEach((link, index) => {
      this.ports[link.a].push({ index, port: link.a_port, peer: link.b });
      this.ports[link.b].push({ index, port: link.b_port, peer: link.a });
    });
    for (const ports of this.ports) ports.sort((one, other) => one.port - other.port);
    // Servers that hang on one switch, and how many each switch has.
    this.hostsOf = new Map();
    this.switchOf = new Map();
    this.nodes.forEach(({ kind }, node) => {
      const [one, ...more] = this.ports[node];
      if (kind !== "server" || !one || more.length || this.nodes[one.peer].kind !== "switch") return;
      this.switchOf.set(node, one.peer);
      this.hostsOf.set(one.peer, (this.hostsOf.get(one.peer) ?? 0) + 1);
    });
    this.events = [];
    this.states = [];    // {at, down, rates, total}: the newest last
    this.at = null;      // the time shown, on the lab's clock; null: now
    this.offset = null;  // seconds from the lab's clock to 1970
    this.counters = null;
    this.setImpairments(drawing.impairments ?? []);
  }

  // What is imposed on links: their rates, and of other impairments the words, by link.
  setImpairments(links) {
    this.capacities = new Map();
    this.impaired = new Map();
    for (const { number, impairments, sender } of links) {
      const rate = bitsOf(impairments.rate), words = impairmentWords(impairments);
      if (rate) this.capacities.set(number, Math.min(rate, this.capacities.get(number) ?? Infinity));
      if (!words) continue;
      const other = this.impaired.get(number);
      this.impaired.set(number, [other, sender ? `from ${sender} ${words}` : words].filter(Boolean).join(", "));
    }
  }

  // The rate that a link is limited to, in bits per second; null: to none.
  capacity(link) { return this.capacities.get(link) ?? null; }

  name(node) { return this.nodes[node].name; }
  linkName(link) { return `${this.name(this.links[link].a)} – ${this.name(this.links[link].b)}`; }

  between(a, b) {
    const found = this.ports[a].filter((port) => port.peer === b).map((port) => port.index);
    return found.find((link) => !this.down.has(link)) ?? found[0] ?? null;
  }

  // --- what comes in --------------------------------------------------------

  addState(now) {
    const before = this.counters, seconds = before ? now.at - before.at : 0;
    this.counters = now;
    const old = this.states.at(-1)?.rates, rates = new Float32Array(2 * this.links.length);
    if (seconds > 0.2) {
      now.links.forEach(([there, back], link) => {
        rates[2 * link] = 8 * (there - before.links[link][0]) / seconds;
        rates[2 * link + 1] = 8 * (back - before.links[link][1]) / seconds;
      });
    } else if (old) rates.set(old);
    const total = rates.reduce((sum, rate) => sum + rate, 0);
    const { queues = null, buffers = null, channels = null, overruns = null } = now;
    this.states.push({ at: now.at, down: new Set(now.down), rates, total, ended: now.ended, queues, buffers, channels, overruns });
    const most = Math.max(60, Math.min(MOST_STATES, Math.floor(MOST_RATES / rates.length)));
    if (this.states.length > most) this.states.shift();
  }

  // What links carried before the page was opened: states as the lab has kept them, the oldest first.
  addHistory(kept) {
    for (const { at, down, links } of kept) this.addState({ at, down, links, ended: [] });
  }

  addEvent(event) {
    if (this.events.length && event.number <= this.events.at(-1).number) return false;
    this.offset = event.at - event.clock;
    this.events.push(event);
    if (this.events.length > MOST_EVENTS) this.events.shift();
    return true;
  }

  // --- at the time shown ----------------------------------------------------

  get newest() { return Math.max(this.states.at(-1)?.at ?? 0, this.events.at(-1)?.clock ?? 0); }
  get oldest() { return Math.min(this.states[0]?.at ?? Infinity, this.events[0]?.clock ?? Infinity); }
  get shown() { return this.at ?? this.newest; }
  get state() {
    return this.at === null ? this.states.at(-1) : this.states.findLast((state) => state.at <= this.at);
  }

  get down() {
    const state = this.state, from = state?.at ?? -Infinity, until = this.at ?? Infinity;
    const down = new Set(state?.down ?? []);
    for (const event of this.since(from)) {
      if (event.clock > until) break;
      if (event.kind === "link") down[event.up ? "delete" : "add"](event.link_number);
    }
    return down;
  }

  // Events after a time: the last ones, found from the end.
  since(clock) {
    let first = this.events.length;
    while (first > 0 && this.events[first - 1].clock > clock) first -= 1;
    return this.events.slice(first);
  }

  // Of the interval that the time shown is in.
  get rates() { return this.at === null ? this.state?.rates : ratesAt(this, this.at); }
  rate(link, direction) { return this.rates?.[2 * link + direction] ?? 0; }
  load(link) { return this.rate(link, 0) + this.rate(link, 1); }
  wall(clock) { return clock + (this.offset ?? 0); }

  // Load over time: of a list of links, or of all.
  series(links = null) {
    return this.states.map((state) => ({
      at: state.at,
      value: links === null ? state.total
        : links.reduce((sum, link) => sum + state.rates[2 * link] + state.rates[2 * link + 1], 0),
    }));
  }

  // Packets that wait at ports (`h0:1`), and those dropped there since the state before; empty without queues.
  queueSeries(ports) {
    const sum = (state, which) => ports.reduce((all, port) => all + (state.queues[port]?.[which] ?? 0), 0);
    const known = this.states.filter(({ queues }) => queues && ports.some((port) => queues[port]));
    return known.map((state, index) => ({
      at: state.at, value: sum(state, 0), lost: index ? Math.max(0, sum(state, 1) - sum(known[index - 1], 1)) : 0,
    }));
  }

  // Packets that wait in the buffers of servers; empty where buffers have no limit.
  bufferSeries(servers) {
    return this.states.filter(({ buffers }) => buffers && servers.some((name) => buffers[name]))
      .map((state) => ({ at: state.at, value: servers.reduce((all, name) => all + (state.buffers[name]?.[0] ?? 0), 0) }));
  }

  // The virtual channels of a link that are not idle: from the end `from`, to the end `to`.
  channelsOf(link) {
    const { a, a_port: aPort, b, b_port: bPort } = this.links[link], channels = this.state?.channels ?? {};
    return [[a, aPort], [b, bPort]].flatMap(([node, port]) => (channels[`${this.name(node)}:${port}`] ?? [])
      .map(([neighbour, channel, waiting, used, limit]) => ({ from: this.name(node), to: neighbour, channel, waiting, used, limit })));
  }

  // The share of credits used on the fullest channel of a link, or of the buffer that is fullest; 0 where all is free.
  fullness(link) {
    return Math.max(0, ...this.channelsOf(link).map(({ waiting, used, limit }) => Math.max(waiting, used) / limit));
  }

  // Credits that are used at ports; empty without credits.
  creditSeries(ports) {
    return this.states.filter(({ channels }) => channels).map(({ at, channels }) => ({
      at, value: ports.reduce((sum, port) => sum + (channels[port] ?? []).reduce((all, row) => all + row[3], 0), 0),
    }));
  }

  // Packets lost because agents or switches did not read them in time, since the state before: at servers, or at all
  // places.
  overrunSeries(names = null) {
    const sum = ({ overruns }) => (names ?? Object.keys(overruns)).reduce((all, name) => all + (overruns[name] ?? 0), 0);
    const known = this.states.filter(({ overruns }) => overruns);
    return known.map((state, index) => ({ at: state.at, value: index ? sum(state) - sum(known[index - 1]) : 0 }));
  }

  // The share of packets that pings and streams have lost, in percent: of all, or of pairs that fit.
  losses(fits = () => true) {
    const begun = new Map(this.events.filter(({ kind }) => kind === "measurement").map((event) => [event.number, event]));
    return this.events.filter(({ kind, name, error, figures }) => kind === "measurement-ended" && ["ping", "stream"].includes(name)
      && !error && figures.sent > 0)
      .filter(({ measurement }) => fits(pairsOf(begun.get(measurement)?.arguments ?? {})))
      .map(({ clock, figures: { sent, received, lost = sent - received } }) => ({ at: clock, value: 100 * lost / sent }));
  }

  // Round-trip times of pings in milliseconds and requests without an answer: of all, or of pairs that fit.
  pings(fits = () => true) {
    const begun = new Map(this.events.filter(({ kind }) => kind === "measurement").map((event) => [event.number, event]));
    return this.events.filter(({ kind, name, error }) => kind === "measurement-ended" && name === "ping" && !error)
      .filter(({ measurement }) => fits(pairsOf(begun.get(measurement)?.arguments ?? {})))
      .map(({ clock, figures }) => ({ at: clock, value: figures["rtt_ms.p50"] ?? null, lost: figures.sent - figures.received }));
  }

  // The measurements that ran in a part of the time: when they began, and how they ended.
  during(from, until) {
    const begun = new Map(this.events.filter(({ kind }) => kind === "measurement").map((event) => [event.number, event]));
    return this.events.filter(({ kind, clock, error }) => kind === "measurement-ended" && clock >= from && !error)
      .map((ended) => ({ begun: begun.get(ended.measurement), ended }))
      .filter((one) => one.begun && one.begun.clock <= until);
  }

  // All failures and repairs.
  episodes() {
    const last = this.events.at(-1)?.number;
    if (!this.found || this.found.last !== last) this.found = { last, episodes: episodesOf(this.events) };
    return this.found.episodes;
  }

  // What belongs to one convergence: from the first change of a link to the event `converged`.
  episode(event) {
    const here = this.events.indexOf(event);
    const end = event.kind === "converged" ? here
      : this.events.findIndex((one, index) => index > here && one.kind === "converged");
    if (here < 0 || end < 0) return [];
    let begin = end;
    while (begin > 0 && this.events[begin - 1].kind !== "converged") begin -= 1;
    const parts = this.events.slice(begin, end + 1);
    const first = parts.findIndex((one) => one.kind === "link");
    return first < 0 ? [] : parts.slice(first).filter((one) => EPISODE.includes(one.kind));
  }
}

// The pairs that a ping asks by name.
function pairsOf({ a, b, pairs }) {
  return a && b ? [[a, b]] : Array.isArray(pairs) ? pairs : [];
}

const EPISODE = ["link", "learned", "tables", "ordered", "converged"];

// The line of an event, as `dcnlab events` has it.
export const eventText = (event) => event.text;
