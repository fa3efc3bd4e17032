// The page of `dcnlab view`: draws the fabric once, then follows the lab's state and events.

const API = "api/";
const MIN_RATE = 1e4, MAX_RATE = 1e10; // bits per second: the ends of the colour scale
const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);
const drawing = byId("drawing");

let fabric;                 // nodes with positions, links with ends
let before = null;          // the previous state, to compute rates
let down = new Set();
let rates = [];             // per link: bits per second from a to b, and from b to a
let chosen = { nodes: [], link: null };
const marks = { nodes: [], links: [] };

// --- small helpers ------------------------------------------------------------------------

function element(parent, name, attributes = {}, text = "") {
  const made = parent.namespaceURI === SVG
    ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  parent.append(made);
  return made;
}

async function ask(path, method = "GET") {
  const answer = await fetch(API + path, { method });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

function bits(rate) {
  if (rate < 1) return "0";
  const unit = Math.min(3, Math.floor(Math.log10(rate) / 3));
  return `${(rate / 1000 ** unit).toPrecision(3)} ${["b/s", "kb/s", "Mb/s", "Gb/s"][unit]}`;
}

// Shorten long runs of one character in labels and patterns.
const brief = (text) => text.replace(/([0.])\1{6,}/g, "$1…");
const both = (link) => rates[link] ? rates[link][0] + rates[link][1] : 0;
const name = (node) => fabric.nodes[node].name;

// --- drawing ------------------------------------------------------------------------------

function middle(link, share) {
  // The middle of a link, moved to its side by a share of its bow.
  const a = fabric.nodes[link.a], b = fabric.nodes[link.b], bow = share * link.bow;
  return { x: (a.x + b.x) / 2 + bow * (b.y - a.y), y: (a.y + b.y) / 2 - bow * (b.x - a.x) };
}

function curve(link) {
  const a = fabric.nodes[link.a], b = fabric.nodes[link.b], control = middle(link, 2);
  return `M${a.x} ${a.y}Q${control.x} ${control.y} ${b.x} ${b.y}`;
}

function radius() {
  // As large as the distances between nodes allow, without the few smallest ones.
  const nearest = fabric.nodes.map((one) => Math.min(...fabric.nodes
    .filter((other) => other !== one).map((other) => Math.hypot(one.x - other.x, one.y - other.y))));
  const tight = nearest.sort((a, b) => a - b)[Math.floor(nearest.length / 8)];
  return Math.min(0.16, 0.42 * tight);
}

function drawFabric() {
  const r = radius();
  fabric.links.forEach((link, number) => {
    const group = element(byId("links"), "g", { class: "link" });
    element(group, "title");
    element(group, "path", { class: "wire", d: curve(link) });
    element(group, "path", { class: "touch", d: curve(link) });
    group.addEventListener("click", () => choose({ nodes: [], link: number }));
    marks.links.push(group);
  });
  fabric.nodes.forEach((node, number) => {
    const group = element(byId("nodes"), "g", {
      class: `node ${node.kind}`, transform: `translate(${node.x} ${node.y})`, tabindex: 0, role: "button",
    });
    element(group, "title", {}, `${node.name} ${node.label}${node.ipv4 ? ` ${node.ipv4}` : ""}`);
    if (node.kind === "server") element(group, "circle", { class: "face", r });
    else element(group, "rect", { class: "face", x: -r, y: -r, width: 2 * r, height: 2 * r, rx: r / 3 });
    element(group, "text", { "font-size": r * (node.name.length > 3 ? 0.68 : 0.85) }, node.name);
    group.addEventListener("click", () => chooseNode(number));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") chooseNode(number);
    });
    marks.nodes.push(group);
  });
  fitView(r);
}

function fitView(r) {
  const points = [...fabric.nodes, ...fabric.links.map((link) => middle(link, 1))], margin = 2.5 * r;
  const xs = points.map((point) => point.x), ys = points.map((point) => point.y);
  const left = Math.min(...xs) - margin, top = Math.min(...ys) - margin;
  const width = Math.max(...xs) - left + margin, height = Math.max(...ys) - top + margin;
  drawing.setAttribute("viewBox", [left, top, width, height].join(" "));
}

function showLoad() {
  const style = getComputedStyle(document.documentElement);
  const [cold, hot] = ["--cold", "--hot"].map((key) => style.getPropertyValue(key));
  fabric.links.forEach((link, number) => {
    const group = marks.links[number], wire = group.querySelector(".wire"), load = both(number);
    const share = Math.min(1, Math.max(0, Math.log(load / MIN_RATE) / Math.log(MAX_RATE / MIN_RATE)));
    const isDown = down.has(number);
    group.classList.toggle("down", isDown);
    wire.style.strokeWidth = isDown ? "" : `${1.4 + 5 * share}px`;
    wire.style.stroke = isDown || load < MIN_RATE ? ""
      : `color-mix(in oklab, ${hot} ${Math.round(100 * share)}%, ${cold})`;
    const state = isDown ? "cut" : bits(load);
    group.querySelector("title").textContent = `${name(link.a)} – ${name(link.b)}: ${state}`;
  });
  byId("total").textContent = bits(rates.reduce((sum, [there, back]) => sum + there + back, 0));
  byId("down").textContent = `${down.size} of ${fabric.links.length}`;
}

// --- selection ----------------------------------------------------------------------------

function chooseNode(number) {
  const [first] = chosen.nodes;
  const isPair = chosen.nodes.length === 1 && first !== number
    && [first, number].every((node) => fabric.nodes[node].kind === "server");
  choose({ nodes: isPair ? [first, number] : [number], link: null });
}

function choose(next) {
  chosen = next;
  marks.nodes.forEach((group, number) => group.classList.toggle("chosen", chosen.nodes.includes(number)));
  marks.links.forEach((group, number) => group.classList.toggle("chosen", chosen.link === number));
  showDetails();
}

async function showDetails() {
  const wanted = chosen, box = document.createElement("div");
  let steps = [];
  try {
    if (wanted.link !== null) linkDetails(box, wanted.link);
    else if (wanted.nodes.length === 2) steps = await pathDetails(box, ...wanted.nodes);
    else if (wanted.nodes.length === 1) await nodeDetails(box, wanted.nodes[0]);
  } catch (error) {
    element(box, "p", {}, error.message);
  }
  if (wanted === chosen) {
    byId("details").replaceChildren(box);
    showPath(steps);
  }
}

function linkDetails(box, number) {
  const link = fabric.links[number];
  element(box, "h2", {}, `${name(link.a)} – ${name(link.b)}`);
  element(box, "p", { class: "quiet" },
    `port ${link.a_port} of ${name(link.a)}, port ${link.b_port} of ${name(link.b)}`);
  const table = element(box, "table");
  linkRow(table, number, link.a, `${name(link.a)} → ${name(link.b)}`);
  linkRow(table, number, link.b, `${name(link.b)} → ${name(link.a)}`);
  cutButton(element(box, "p"), number);
}

function linkRow(table, number, from, text) {
  const row = element(table, "tr"), direction = from === fabric.links[number].a ? 0 : 1;
  element(row, "td", {}, text);
  showRate(element(row, "td", { "data-link": number, "data-direction": direction }));
  return row;
}

function showRate(cell) {
  const { link, direction } = cell.dataset;
  cell.textContent = down.has(Number(link)) ? "cut" : bits((rates[link] ?? [0, 0])[direction]);
}

function cutButton(parent, number) {
  const op = down.has(number) ? "restore" : "fail";
  const words = op === "restore" ? { class: "restore" } : { class: "cut" };
  const button = element(parent, "button", words, op === "restore" ? "Restore" : "Cut");
  button.addEventListener("click", async () => {
    button.disabled = true;
    await ask(`links/${number}/${op}`, "POST").catch((error) => alert(error.message));
    await refresh();
    showDetails();
  });
}

async function nodeDetails(box, number) {
  const node = fabric.nodes[number];
  element(box, "h2", {}, node.name);
  element(box, "p", { class: "quiet" }, [node.kind, node.label, node.ipv4].filter(Boolean).join(" · "));
  const table = element(box, "table");
  const ports = fabric.links.flatMap((link, index) => {
    if (link.a === number) return [{ index, port: link.a_port, peer: link.b }];
    return link.b === number ? [{ index, port: link.b_port, peer: link.a }] : [];
  });
  for (const { index, port, peer } of ports.sort((one, other) => one.port - other.port)) {
    const row = linkRow(table, index, number, `port ${port} → ${name(peer)}`);
    cutButton(element(row, "td"), index);
  }
  const found = await ask(`nodes/${encodeURIComponent(node.name)}/table`);
  const lines = found.installed ?? found.predicted;
  const verdict = found.equal === null ? "" : found.equal ? ", installed as predicted" : ", NOT as predicted";
  element(box, "p", { class: "quiet" }, lines.length ? `${lines.length} entries${verdict}` : "no entries");
  if (lines.length) element(box, "pre", {}, lines.map(brief).join("\n"));
}

async function pathDetails(box, a, b) {
  element(box, "h2", {}, `${name(a)} → ${name(b)}`);
  const steps = await ask(`paths/${name(a)}/${name(b)}`);
  element(box, "p", { class: "quiet" },
    steps.at(-1).delivered ? `${steps.length - 1} links` : "not delivered with the present failures");
  const list = element(box, "ol");
  for (const step of steps) {
    const item = element(list, "li");
    element(item, "strong", {}, `${step.node} `);
    item.append(brief(step.reason));
    if (step.entry) element(item, "code", {}, brief(step.entry));
  }
  return steps;
}

function showPath(steps) {
  const nodes = steps.map((step) => fabric.nodes.findIndex((node) => node.name === step.node));
  marks.nodes.forEach((group, number) => group.classList.toggle("on-path", nodes.includes(number)));
  const path = byId("path");
  path.replaceChildren();
  nodes.slice(1).forEach((to, index) => {
    const from = nodes[index];
    const link = fabric.links.find((one, number) => !down.has(number)
      && ((one.a === from && one.b === to) || (one.a === to && one.b === from)));
    if (link) element(path, "path", { d: curve(link) });
  });
}

// --- state and events, as one stream ---------------------------------------------------------------

function showEndedProcesses(lines) {
  const list = byId("ended-processes"), shown = [...list.children].map((item) => item.textContent);
  if (shown.join("\n") === lines.join("\n")) return;
  list.hidden = !lines.length;
  list.replaceChildren();
  for (const line of lines) element(list, "li", {}, line);
}

async function refresh() {
  showState(await ask("state"));
}

function showState(now) {
  showEndedProcesses(now.ended);
  if (before) {
    const seconds = now.at - before.at;
    if (seconds > 0.2) {
      rates = now.links.map((bytes, link) => bytes.map((n, direction) => 8 * (n - before.links[link][direction]) / seconds));
    }
  }
  const changed = now.down.length !== down.size || now.down.some((link) => !down.has(link));
  before = now;
  down = new Set(now.down);
  showLoad();
  byId("details").querySelectorAll("td[data-link]").forEach(showRate);
  if (changed && (chosen.link !== null || chosen.nodes.length)) showDetails();
}

function showLink(event) {
  // At once, before the next state.
  if (event.up) down.delete(event.link_number); else down.add(event.link_number);
  showLoad();
  if (chosen.link !== null || chosen.nodes.length) showDetails();
}

function follow() {
  // Only what happens from now on: no event has a number as great as this.
  const query = new URLSearchParams({ follow: true, state: true, kind: "link", after: Number.MAX_SAFE_INTEGER });
  const stream = new EventSource(`${API}events?${query}`);
  stream.addEventListener("message", (message) => showLink(JSON.parse(message.data)));
  stream.addEventListener("state", (message) => {
    byId("ended").hidden = true;
    showState(JSON.parse(message.data));
  });
  stream.addEventListener("end", () => { byId("ended").hidden = false; });
  stream.addEventListener("error", () => { // the browser tries again, except after an answer that is no stream
    byId("ended").hidden = false;
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  });
}

// --- zoom and pan -------------------------------------------------------------------------

function onWheel(event) {
  event.preventDefault();
  const [x, y, width, height] = drawing.getAttribute("viewBox").split(" ").map(Number);
  const factor = Math.exp(event.deltaY / 500), at = pointAt(event);
  const box = [at.x - (at.x - x) * factor, at.y - (at.y - y) * factor, width * factor, height * factor];
  drawing.setAttribute("viewBox", box.join(" "));
}

function pointAt(event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
}

function onPress(event) {
  if (event.target !== drawing) return;
  const start = pointAt(event);
  let moved = false;
  const move = (next) => {
    const [x, y, width, height] = drawing.getAttribute("viewBox").split(" ").map(Number);
    const at = pointAt(next);
    moved = true;
    drawing.setAttribute("viewBox", [x + start.x - at.x, y + start.y - at.y, width, height].join(" "));
  };
  const end = () => {
    drawing.removeEventListener("pointermove", move);
    drawing.classList.remove("moving");
    if (!moved) choose({ nodes: [], link: null });
  };
  drawing.classList.add("moving");
  drawing.addEventListener("pointermove", move);
  drawing.addEventListener("pointerup", end, { once: true });
}

// --- start --------------------------------------------------------------------------------

function fromAddress() {
  // `#h0,h15` selects nodes, so that a link can show a path.
  const numbers = location.hash.slice(1).split(",").map((word) => fabric.nodes.findIndex((n) => n.name === word));
  numbers.filter((number) => number >= 0).slice(0, 2).forEach(chooseNode);
}

fabric = await ask("drawing");
document.title = `${fabric.name} – dcnlab`;
byId("name").textContent = fabric.name;
const servers = fabric.nodes.filter((node) => node.kind === "server").length;
byId("about").textContent = `${fabric.topology} with ${fabric.scheme} · ${servers} servers, `
  + `${fabric.nodes.length - servers} switches, ${fabric.links.length} links`;
drawFabric();
drawing.addEventListener("wheel", onWheel, { passive: false });
drawing.addEventListener("pointerdown", onPress);
fromAddress();
follow();
