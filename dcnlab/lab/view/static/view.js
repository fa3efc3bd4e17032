// The page of `dcnlab view`: draws the network, follows the lab's state and events, and keeps the last minutes.

import { Camera } from "./camera.js";
import { bits, byId, clockTime, count, element, keep } from "./dom.js";
import { Geometry } from "./geometry.js";
import { Gestures } from "./gestures.js";
import { Keyboard } from "./keyboard.js";
import { Legend } from "./legend.js";
import { Model } from "./model.js";
import { Motion } from "./motion.js";
import { PacketPlayer } from "./packet.js";
import { Panel } from "./panel.js";
import { Picture } from "./picture.js";
import { Playback } from "./playback.js";
import { Search } from "./search.js";
import { Sheet } from "./sheet.js";
import { ask, begin, follow } from "./source.js";
import { svgOf } from "./svg.js";
import { TerminalWindow } from "./terminal.js";
import { Timeline } from "./timeline.js";

const NOTHING = { nodes: [], link: null, event: null };

const { drawing, messages: recorded } = await begin();
const model = new Model(drawing);
const geometry = new Geometry(model);
const picture = new Picture(byId("picture"), model, geometry, new Camera(geometry.bounds, geometry.radius, (scale) => geometry.fit(scale)));
const panel = new Panel(byId("details"), model, {
  refresh, chooseEvent, showArrows, showPaths, playPacket: (hops) => player.play(hops), openTerminal: (node) => terminal.open(node), isRecording: recorded !== null,
  axis: () => timeline.axis, hasCut,
});
const terminal = new TerminalWindow(byId("terminal"), drawing.name);
const search = new Search(byId("find"), byId("search"), byId("proposals"), model, {
  find: (found) => { reveal(found); picture.canvas.focus(); return true; }, said,
});
const timeline = new Timeline(byId("timeline"), model, picture, {
  onTime: showTime, onEvent: (event) => choose({ ...NOTHING, event }), onSpan: () => panel.update(),
});
const player = new PacketPlayer(picture);
const playback = new Playback(model, new Motion(model, geometry), picture, { show: runTo, isRecording: recorded !== null });
picture.onFold = (folded) => { byId("folded").hidden = !folded; };
const sheet = new Sheet(document.querySelector("aside"), byId("sheet"));
const legend = new Legend(model, picture, { isRecording: recorded !== null, said });
let chosen = NOTHING, undo = null;
// What `dcnlab draw` marks, whatever is chosen.
const lasting = { path: [], arrows: [], nodes: [], ...drawing.marks };

// --- what is chosen -------------------------------------------------------------------------

// A node, then another server: the path between them.
function chooseMark(mark) {
  if (!mark) choose(NOTHING);
  else if (mark.link !== undefined) choose({ ...NOTHING, link: mark.link });
  else {
    const [first] = chosen.nodes;
    const isPair = chosen.nodes.length === 1 && first !== mark.node
      && [first, mark.node].every((node) => model.nodes[node].kind === "server");
    choose({ ...NOTHING, nodes: isPair ? [first, mark.node] : [mark.node] });
  }
}

async function choose(next) {
  chosen = next;
  player.stop();
  Object.assign(picture.marks, { nodes: next.nodes.length ? next.nodes : lasting.nodes, link: next.link, path: lasting.path, arrows: lasting.arrows, paths: [] });
  legend.show({ to: next.nodes[0] ?? 0, times: timesOf(next.event) });
  picture.request();
  if (next !== NOTHING) sheet.open();
  const steps = await panel.show(next);
  if (steps !== null) showPath(steps);
}

// The path of a pair; nothing for other choices.
function showPath(steps) {
  const nodes = steps.map((step) => model.numbers.get(step.node));
  if (chosen.nodes.length === 2 && nodes.length) picture.camera.revealAll(nodes.map((node) => model.nodes[node]));
  if (chosen.nodes.length === 2 && nodes.length) picture.marks.path = nodes.slice(1).map((to, index) => model.between(nodes[index], to)).filter((link) => link !== null);
  picture.request();
}

// Links have changed: what is chosen, again.  A pair stays, with what was started there, and so do next hops.
async function followLinks() {
  if (!panel.pair) return chooseAgain();
  legend.show();
  const steps = await panel.pair?.refresh();
  if (!steps) return;
  player.stop();
  picture.marks.paths = [];
  showPath(steps);
}

async function chooseAgain() {
  const choice = chosen, hasArrows = picture.marks.arrows !== lasting.arrows;
  await choose(choice);
  if (hasArrows && chosen === choice) await panel.nextHops(model.nodes[choice.nodes[0]]).catch((error) => said(error.message));
}

function showArrows(arrows) {
  picture.marks.arrows = arrows;
  picture.request();
}

// When each server was configured, in the order of nodes; null for other events.
function timesOf(event) {
  return event?.kind === "configured" ? model.nodes.map(({ name }) => event.servers[name] ?? null) : null;
}

function showPaths(paths) {
  player.stop();
  picture.camera.revealAll(paths.flat().flatMap((link) => [model.nodes[model.links[link].a], model.nodes[model.links[link].b]]));
  Object.assign(picture.marks, { paths, path: [] });
  picture.request();
}

function chooseEvent(event) {
  timeline.choose(event);
}

function clear() {
  if (model.at !== null) timeline.goTo(Infinity);
  if (chosen === NOTHING) fit(); else choose(NOTHING);
}

function cut(mark = null) {
  const link = mark?.link ?? chosen.link;
  if (recorded || link === null || link === undefined) return;
  panel.change(`links/${link}/${model.down.has(link) ? "restore" : "fail"}`);
}

// The last cut can be undone until its links are up again.
function hasCut(links, restore) {
  undo = { links, restore };
  showUndo();
}

function showUndo() {
  if (undo && !undo.links.some((link) => model.down.has(link))) undo = null;
  byId("undo").hidden = !undo || model.at !== null;
  if (undo) byId("undo").textContent = `Undo the cut of ${undo.links.length === 1 ? model.linkName(undo.links[0]) : `${undo.links.length} links`}`;
}

function undoCut() {
  undo?.restore();
}

// --- what comes in ----------------------------------------------------------------------------

async function refresh() {
  showState(await ask("state"));
  await followLinks();
}

function showState(state) {
  const before = model.down;
  model.addState(state);
  if (model.at === null) showNow(before);
  timeline.request();
}

// What is imposed on links: at the start, and whenever somebody has changed it.
async function readImpairments() {
  if (!recorded) model.setImpairments((await ask("impairments")).links);
  byId("scale").firstElementChild.classList.toggle("known", model.capacities.size > 0);
  byId("scale").lastElementChild.textContent = model.capacities.size ? "0 to 100 % of the rate" : "10 kb/s to 10 Gb/s";
  byId("impaired").hidden = !model.impaired.size;
  picture.change();
}

function showEvent(event) {
  const before = model.down;
  if (!model.addEvent(event)) return;
  if (event.kind === "command-ended" && event.op === "impair") readImpairments().catch((error) => said(error.message));
  timeline.request();
  if (model.at !== null) return;
  if (event.kind === "link") showNow(before);
  else panel.update();
}

// The state at the time shown: its figures, and the panel where links have changed.
function showNow(before) {
  const { down } = model;
  // A rate is known from the second reading of the counters on.
  byId("total").textContent = model.states.length > 1 ? bits(model.state?.total ?? 0) : "–";
  byId("down").textContent = `${down.size} of ${model.links.length}`;
  showEnded(model.state?.ended ?? []);
  showUndo();
  legend.update();
  picture.change();
  const changed = before && (down.size !== before.size || [...down].some((link) => !before.has(link)));
  if (changed && chosen !== NOTHING && model.at === null && !chosen.event) followLinks();
  else panel.update();
}

function showTime(at) {
  playback.pause();
  byId("happening").hidden = true;
  if (at === null) picture.marks.motion = null;
  setTime(at);
  showNow(null);
}

// A time that runs: only what has changed is shown anew.
function runTo(at) {
  const { state, rates } = model, down = [...model.down].join();
  setTime(at);
  if (model.state !== state || model.rates !== rates || [...model.down].join() !== down) showNow(null);
  picture.request();
  timeline.request();
}

function setTime(at) {
  model.at = at;
  document.body.classList.toggle("past", at !== null);
  byId("now").hidden = at === null;
  if (at !== null) byId("when").textContent = `${clockTime(model.wall(at))}, ${(model.newest - at).toFixed(1)} s ago`;
}

function showEnded(lines) {
  const list = byId("ended-processes"), shown = [...list.children].map((item) => item.textContent);
  if (shown.join("\n") === lines.join("\n")) return;
  list.hidden = !lines.length;
  list.replaceChildren();
  for (const line of lines) element(list, "li", {}, line);
}

// --- the window ---------------------------------------------------------------------------------

function fit() {
  picture.camera.fit();
  picture.change();
}

// What is under the pointer, named beside it.
function hover(mark, at = null) {
  const before = picture.marks.hover, tip = byId("tip");
  tip.classList.toggle("beside", mark !== null);
  if (mark) place(tip, at);
  if (mark?.node === before?.node && mark?.link === before?.link) return;
  picture.marks.hover = mark;
  tip.textContent = mark ? picture.title(mark) : "";
  if (mark) place(tip, at);
  picture.canvas.classList.toggle("over", mark !== null);
  picture.request();
}

// Beside a point of the picture, and inside it.
function place(tip, { x, y }) {
  const { width, height } = picture.camera;
  tip.style.setProperty("--x", `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 4))}px`);
  tip.style.setProperty("--y", `${y + 20 + tip.offsetHeight > height ? y - 10 - tip.offsetHeight : y + 18}px`);
}

// What a search has found, in view.
function reveal({ nodes, link, from }) {
  picture.camera.revealAll([from, ...nodes].map((node) => model.nodes[node]));
  choose({ ...NOTHING, nodes, link });
  return true;
}

function listen() {
  new Gestures(picture, { onHover: hover, onChoose: chooseMark });
  new Keyboard(picture, { choose: chooseMark, clear, cut, fit, said, search: () => { sheet.open(); byId("search").focus(); }, help: showKeys, undo: undoCut, play: () => playback.toggle(), stepTime: (step) => playback.step(step) });
  byId("fit").addEventListener("click", fit);
  byId("zoom-in").addEventListener("click", () => zoom(1.4));
  byId("zoom-out").addEventListener("click", () => zoom(1 / 1.4));
  byId("live").addEventListener("click", () => timeline.goTo(Infinity));
  byId("png").addEventListener("click", async () => keep(await picture.png(), `${model.title}.png`));
  byId("svg").addEventListener("click", () =>
    keep(new Blob([svgOf(picture)], { type: "image/svg+xml" }), `${model.title}.svg`));
  byId("undo").addEventListener("click", undoCut);
  new ResizeObserver(() => { picture.resize(); timeline.resize(); }).observe(byId("stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    picture.readColours();
    legend.show();
    timeline.request();
  });
}

function showKeys() {
  const keys = document.querySelector("footer details");
  keys.open = !keys.open;
  if (keys.open) keys.scrollIntoView({ block: "nearest" });
}

function zoom(factor) {
  picture.camera.zoom(factor);
  picture.change();
}

function said(text) {
  byId("said").textContent = text;
  byId("tip").classList.remove("beside");
  byId("tip").textContent = text;
}

// --- start ----------------------------------------------------------------------------------------

function describe() {
  document.title = `${model.title} – dcnlab`;
  byId("name").textContent = model.title;
  const servers = picture.servers.length, switches = picture.switches.length;
  byId("caption").textContent = [model.caption, ...model.lines ?? []].filter(Boolean).join(" ");
  byId("about").textContent = `${[model.topology, model.scheme].filter(Boolean).join(" with ")} · ${count(servers, "server")}, `
    + `${switches === 1 ? "1 switch" : `${switches} switches`}, ${count(model.links.length, "link")}`;
}

// `#h0,h15` in the address chooses nodes, so that an address can show a path.
function fromAddress() {
  if (location.hash.length < 2 || !search.run(decodeURIComponent(location.hash.slice(1)))) choose(NOTHING);
}

document.body.classList.toggle("framed", parent !== window);
describe();
readImpairments().catch((error) => said(error.message));
picture.resize();
timeline.resize();
listen();
fromAddress();
if (recorded) {
  for (const [kind, value] of recorded) model[kind === "state" ? "addState" : "addEvent"](value);
  timeline.span = Math.max(10, Math.min(1800, model.newest - model.oldest));
  document.body.classList.add("recorded");
  if (drawing.marks) {
    document.body.classList.add("drawn");
    document.querySelector("footer details").open = innerWidth > 800;
  }
  showNow(null);
} else {
  model.addHistory((await ask("history").catch(() => ({}))).readings ?? []); // a lab of an earlier version has none
  timeline.span = Math.max(timeline.span, Math.min(900, model.newest - model.oldest));
  follow({ state: showState, event: showEvent, ended: (over) => { byId("ended").hidden = !over; } });
}

// The number of a link `h0-s4`, for the page with two labs.
function linkNamed(text) {
  const [a, b] = search.ends(text), link = a === null ? null : model.between(a, b);
  if (link === null) throw new Error(`${model.title} has no link ${text}: write one such as h0-s0`);
  return link;
}

// For the page with two labs, tests and the benchmark.
window.dcnlab = { ask, linkNamed, isRecording: recorded !== null, model, picture, legend, timeline, panel, terminal, playback, search, get chosen() { return chosen; } };
