// What the colours of nodes mean: the choice in the bar, and the legend over the picture.

import { byId, element } from "./dom.js";
import { COLOURINGS, colouring } from "./colouring.js";
import { ask } from "./source.js";

const SPREAD = 2000; // milliseconds in which a configuration is played

export class Legend {
  constructor(model, picture, { isRecording, said }) {
    Object.assign(this, { model, picture, isRecording, said, scheme: null, entries: null, loaded: null, serial: 0, times: null, to: 0 });
    this.select = byId("colour");
    this.fill();
    this.select.value = model.part_name ? "part" : "";
    this.select.addEventListener("change", () => this.show());
    if (!isRecording) this.load();
  }

  // The ways that fit; those of the scheme only where it can be asked.
  fill() {
    const chosen = this.select.value;
    this.select.replaceChildren();
    element(this.select, "option", { value: "" }, "by kind");
    for (const { key, title, fits, scheme } of COLOURINGS) {
      if (scheme && this.isRecording && key !== "label") continue;
      if (fits && !fits(this.model, this.scheme)) continue;
      element(this.select, "option", { value: key }, title(this.model));
    }
    this.select.value = chosen;
  }

  get by() { return this.times ? "times" : this.select.value; }

  // Colours towards a node, or by the times of a configuration.
  async show({ to = this.to, times = null } = {}) {
    Object.assign(this, { to, times });
    const serial = this.serial += 1, way = COLOURINGS.find(({ key }) => key === this.by);
    if (way?.scheme && !this.isRecording && !await this.load(way.entries)) return;
    if (serial !== this.serial) return;
    if (times && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.play(times);
    else this.paint(this.colours());
  }

  // What the scheme has decided, with the present failures.
  async load(withEntries = false) {
    const down = [...this.model.down].sort().join();
    if (down !== this.loaded) this.scheme = this.entries = null;
    this.loaded = down;
    try {
      this.scheme ??= await ask("scheme");
      if (withEntries && !this.entries) this.said("counting the entries of all tables …");
      if (withEntries && !this.entries) {
        this.entries = await ask("entries");
        this.said("");
      }
    } catch (error) {
      this.said(error.message);
      return false;
    }
    this.fill();
    return true;
  }

  // Another state: colours that follow it.
  update() {
    const hasBuffers = Boolean(this.model.states.at(-1)?.buffers);
    if (hasBuffers !== this.hasBuffers) this.fill();
    this.hasBuffers = hasBuffers;
    if (this.by === "buffers") this.show();
  }

  // Times, from none to all in two seconds: how a configuration has spread.
  play(times) {
    const last = Math.max(...times.filter((ms) => ms !== null)), begin = performance.now(), { serial } = this;
    const step = (now) => {
      if (serial !== this.serial) return;
      const until = last * (now - begin) / SPREAD;
      const found = this.colours(times);
      for (const node of found.faces.keys()) if (times[node] > until) found.faces.delete(node);
      this.paint(found);
      if (until < last) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  colours(times = this.times) {
    return colouring(this.model, this.by, { ...this, times, paper: this.picture.colour("paper"), face: this.picture.colour("face") });
  }

  paint(found) {
    const box = byId("legend"), { marks } = this.picture;
    const isSame = !found && !marks.colours;
    marks.colours = found?.faces ?? null;
    marks.links = found?.links ?? new Map();
    marks.tree = found && this.by === "word" ? this.scheme.tree.links : [];
    box.hidden = !found;
    box.replaceChildren();
    if (!isSame) this.picture.change();
    if (!found) return;
    element(box, "span", {}, found.title);
    for (const [colour, words] of found.legend) this.swatch(box, colour, words);
    if (!found.low) return;
    element(box, "b", {}, found.low[1]);
    if (found.low[1] === found.high[1]) return;
    const scale = element(box, "i", { class: "scale" });
    scale.style.background = `linear-gradient(90deg, ${found.low[0]}, ${found.high[0]})`;
    element(box, "b", {}, found.high[1]);
  }

  swatch(box, colour, words) {
    const item = element(box, "b");
    element(item, "i").style.background = colour;
    item.append(words);
  }
}
