// Time that runs by itself: a recording, or the last minutes of a lab, as fast as it was, faster, or in slow motion.

import { byId } from "./dom.js";
import { happened } from "./motion.js";

const LEAD = 1;            // seconds before a failure at which it begins
const SLOW = 3.5;          // seconds that a failure takes on the screen, where failures are slow
const STILL = 3;           // seconds that the last sentence stays

export class Playback {
  // `show(at)` shows a time; `motion` paints what moves.
  constructor(model, motion, picture, { show, isRecording }) {
    Object.assign(this, { model, motion, picture, show, isRecording, serial: 0, playing: false, said: 0 });
    this.button = byId("play");
    this.speeds = byId("speed");
    this.button.addEventListener("click", () => this.toggle());
    byId("step-back").addEventListener("click", () => this.step(-1));
    byId("step-on").addEventListener("click", () => this.step(1));
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  // From the time shown; where that is the end, from a second before the failure: the first of a recording, the last of
  // a lab.
  play() {
    if (this.model.states.length < 2) return;
    if (this.model.at === null || this.model.at >= this.model.newest - 0.05) this.rewind();
    const serial = this.serial += 1;
    let before = performance.now();
    this.mark(true);
    const frame = (now) => {
      if (serial !== this.serial) return;
      const seconds = Math.min(0.1, (now - before) / 1000);
      before = now;
      if (this.advance(seconds)) requestAnimationFrame(frame); else this.pause();
    };
    requestAnimationFrame(frame);
  }

  rewind() {
    const failures = this.model.episodes().filter(({ parts }) => parts.some((event) => event.kind === "link" && !event.up));
    const from = this.isRecording ? failures[0] : failures.at(-1);
    this.seek(Math.max(this.model.oldest, from ? from.begin - LEAD : this.isRecording ? this.model.oldest : this.model.newest - 10));
  }

  // Some seconds of the screen later; whether there is more.
  advance(seconds) {
    const at = this.later(this.model.shown, seconds);
    this.motion.phase += seconds;
    this.seek(Math.min(at, this.model.newest));
    return at < this.model.newest;
  }

  seek(at) {
    this.show(at);
    this.say(at);
  }

  // The time after some seconds of the screen; it slows down at the border of a failure, not after it.
  later(at, seconds) {
    const chosen = this.speeds.value;
    if (chosen !== "failures") return at + seconds * Number(chosen);
    const slow = this.model.episodes().map(({ begin, end }) => ({ begin: begin - 0.02 * (end - begin), end: end + 0.1 * (end - begin) }));
    const here = slow.find(({ begin, end }) => begin <= at && at < end);
    if (here) return Math.min(here.end, at + seconds * Math.min(1, (here.end - here.begin) / SLOW));
    const next = slow.find(({ begin }) => begin > at);
    return Math.min(at + seconds, next?.begin ?? Infinity);
  }

  pause() {
    this.serial += 1;
    this.mark(false);
  }

  mark(playing) {
    this.playing = playing;
    this.button.textContent = playing ? "Pause" : "Play";
    this.picture.marks.motion = playing || this.model.at !== null ? this.motion : null;
    this.picture.request();
  }

  // To what happened before or after, in a failure.
  step(step) {
    this.pause();
    const times = this.model.episodes().flatMap(({ begin, parts }) => [begin, ...parts.map(({ clock }) => clock)]), at = this.model.shown;
    const next = step > 0 ? times.find((time) => time > at + 1e-6) : times.findLast((time) => time < at - 1e-6);
    if (next === undefined) return;
    this.picture.marks.motion = this.motion;
    this.motion.phase += 0.3;
    this.seek(next);
  }

  // What has just happened, over the picture.
  say(at) {
    const box = byId("happening"), episode = this.model.episodes().findLast((one) => one.begin <= at && at <= one.end + STILL);
    box.hidden = !episode;
    if (!episode) return;
    const { command, begin, parts } = episode, event = parts.findLast(({ clock }) => clock <= at);
    const text = event ? happened(event, this.model) : happened(command, this.model);
    const ms = event && command ? 1000 * (event.clock - begin) : null;
    const after = ms === null ? "" : `${ms.toFixed(ms < 10 ? 1 : 0)} ms  `;
    if (box.dataset.text === after + text) return;
    box.dataset.text = after + text;
    box.querySelector("b").textContent = after;
    box.querySelector("span").textContent = text;
  }
}
