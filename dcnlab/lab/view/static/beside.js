// Two labs side by side: each in a frame of its own, one time for both, the same cut, and the differences.

import { differences, failuresOf } from "./differences.js";
import { byId, element } from "./dom.js";
import { Lanes } from "./lanes.js";

const frames = [...document.querySelectorAll("iframe")], inside = document.getElementById("sides");
const kept = inside ? JSON.parse(inside.textContent) : null; // in a file: both pages, and figures by links that are down

if (kept) frames.forEach((frame, side) => { frame.srcdoc = kept.pages[side]; });
else frames.forEach((frame, side) => { frame.src = `${"ab"[side]}/`; });
const sides = await Promise.all(frames.map(ready));
const names = sides.map(({ model }) => model.title);
const isRecording = sides.every(({ isRecording }) => isRecording);

// The page in a frame, once it shows its network.
async function ready(frame) {
  for (;;) {
    const page = frame.contentWindow?.dcnlab;
    if (page?.model.states.length) return page;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

// Where both times are 0: labs that run have one clock; recordings begin at their first failure.
const origins = sides.map(({ model }) => isRecording ? failuresOf(model)[0]?.begin ?? model.oldest : sides[0].model.newest);
let at = null, playing = 0; // seconds from there; null: now

const newest = () => Math.max(...sides.map(({ model }, side) => model.newest - origins[side]));
const oldest = () => Math.min(...sides.map(({ model }, side) => model.oldest - origins[side]));

function seek(time) {
  at = time;
  sides.forEach((side, index) => {
    const { model, playback } = side, there = origins[index] + time;
    playback.seek(Math.max(model.oldest, Math.min(model.newest, there)));
    playback.mark(false);
  });
  show();
}

function goLive() {
  pause();
  at = null;
  for (const { timeline } of sides) timeline.goTo(Infinity);
  show();
}

// --- playing ------------------------------------------------------------------------------

function play() {
  const failures = sides.map(({ model }, side) => failuresOf(model).map(({ begin }) => begin - origins[side]));
  const first = isRecording ? Math.min(...failures.map((times) => times[0] ?? Infinity)) : Math.min(...failures.map((times) => times.at(-1) ?? Infinity));
  if (at === null || at >= newest() - 0.05) seek(Number.isFinite(first) ? Math.max(oldest(), first - 1) : oldest());
  const serial = playing = Date.now();
  let before = performance.now();
  byId("play").textContent = "Pause";
  const frame = (now) => {
    if (serial !== playing) return;
    const seconds = Math.min(0.1, (now - before) / 1000);
    before = now;
    if (advance(seconds)) requestAnimationFrame(frame); else pause();
  };
  requestAnimationFrame(frame);
}

// Some seconds of the screen later: as slow as the slower of both.
function advance(seconds) {
  for (const { playback } of sides) playback.speeds.value = byId("speed").value;
  const steps = sides.map(({ playback, model }) => model.shown < model.newest ? playback.later(model.shown, seconds) - model.shown : Infinity);
  const step = Math.min(...steps);
  if (!Number.isFinite(step)) return false;
  for (const { playback } of sides) playback.motion.phase += seconds;
  seek(at + step);
  return at < newest();
}

function pause() {
  playing = 0;
  byId("play").textContent = "Play";
}

const toggle = () => { if (playing) pause(); else play(); };

// To what happened before or after, in either.
function stepTo(direction) {
  pause();
  const times = sides.flatMap(({ model }, side) => model.episodes().flatMap(({ begin, parts }) => [begin, ...parts.map(({ clock }) => clock)])
    .map((time) => time - origins[side])).sort((one, other) => one - other);
  const here = at ?? newest(), next = direction > 0 ? times.find((time) => time > here + 1e-6) : times.findLast((time) => time < here - 1e-6);
  if (next !== undefined) seek(next);
}

// --- what both do -----------------------------------------------------------------------------

async function both(task, words) {
  byId("said").textContent = `${words} …`;
  try {
    await Promise.all(sides.map(task));
    byId("said").textContent = "";
  } catch (error) {
    byId("said").textContent = error.message;
  }
  show();
}

async function cutBoth() {
  const link = byId("link").value.trim(), [a, b] = byId("pair").value.trim().split(/[\s,]+/);
  goLive();
  // A browser has six connections with a server: events and streams of both labs take four, and their cuts two.
  await Promise.allSettled(asking);
  await both(async (side) => {
    const number = side.linkNamed(link);
    const stream = byId("stream").checked ? side.ask("measurements/stream", "POST", { a, b, seconds: 4 }) : null;
    if (stream) await new Promise((resolve) => { setTimeout(resolve, 1500); });
    await side.ask(`links/${number}/fail`, "POST");
    await stream;
  }, `${link} is cut in both`);
}

const restoreBoth = () => both((side) => side.ask(`links/${side.linkNamed(byId("link").value.trim())}/restore`, "POST"), "restored in both");

// --- what is shown --------------------------------------------------------------------------------

const figures = [new Map(), new Map()]; // by the links that are down
const asking = new Set();

// What the scheme does with these failures; asked for once.
function figuresOf(side, down) {
  const key = [...down].sort((one, other) => one - other).join();
  if (!figures[side].has(key)) {
    figures[side].set(key, null);
    const found = kept ? Promise.resolve(kept.figures[side][key] ?? null) : fetch(`figures/${"ab"[side]}?down=${key}`).then((answer) => answer.ok ? answer.json() : null);
    asking.add(found);
    found.then((value) => { figures[side].set(key, value); show(); }).finally(() => asking.delete(found));
  }
  return figures[side].get(key);
}

function show() {
  const time = at ?? newest();
  byId("when").textContent = at === null ? "now" : isRecording ? `${time.toFixed(time > -10 && time < 10 ? 3 : 1)} s from the failure` : `${(newest() - time).toFixed(1)} s ago`;
  byId("live").hidden = isRecording || at === null;
  const rows = differences(sides.map((side, index) => ({ model: side.model, until: origins[index] + time, figures: figuresOf(index, side.model.down) })));
  const body = document.querySelector("#differences tbody");
  body.replaceChildren();
  for (const { name, values, difference, better } of rows) {
    const row = element(body, "tr");
    element(row, "th", { scope: "row" }, name);
    values.forEach((value, side) => element(row, "td", better === side ? { class: "better" } : {}, value));
    element(row, "td", {}, difference);
  }
  lanes.request();
}

const lanes = new Lanes(byId("timeline"), sides, origins, { range: () => [oldest(), newest()], time: () => at, seek: (time) => { pause(); seek(time); } });

document.querySelectorAll("#differences th").forEach((cell, column) => { if (column === 1 || column === 2) cell.textContent = names[column - 1]; });
document.querySelectorAll("section h2").forEach((heading, side) => {
  const { topology, scheme } = sides[side].model;
  heading.textContent = [names[side], topology === names[side] ? "" : topology, scheme && `with ${scheme}`].filter(Boolean).join(" ");
});
document.title = `${names.join(" | ")} – dcnlab`;
document.body.classList.toggle("recorded", isRecording);
byId("pair").value = [0, -1].map((end) => sides[0].model.nodes.filter(({ kind }) => kind === "server").at(end).name).join(" ");
byId("play").addEventListener("click", toggle);
byId("step-on").addEventListener("click", () => stepTo(1));
byId("step-back").addEventListener("click", () => stepTo(-1));
byId("live").addEventListener("click", goLive);
byId("cut").addEventListener("submit", (event) => {
  event.preventDefault();
  cutBoth();
});
byId("restore-both").addEventListener("click", restoreBoth);
document.addEventListener("keydown", (event) => {
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
  const action = { p: toggle, ",": () => stepTo(-1), ".": () => stepTo(1), ArrowLeft: () => stepTo(-1), ArrowRight: () => stepTo(1), Escape: goLive }[event.key];
  if (!action || (event.key === "Escape" && isRecording)) return;
  event.preventDefault();
  action();
});
if (isRecording) seek(newest());
else setInterval(() => { if (at === null) show(); }, 1000);
show();
// For tests.
window.beside = { sides, seek, play, pause, stepTo, advance, cutBoth, get at() { return at; } };
