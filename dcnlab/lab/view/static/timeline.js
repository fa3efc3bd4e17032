// The last minutes below the picture: load of the lab, and every event in the row of its kind.

import { bits, clockTime } from "./dom.js";
import { eventText } from "./model.js";

const ROWS = [
  { title: "links", kinds: ["link"], colour: (event) => event.up ? "path" : "cut" },
  { title: "routing", kinds: ["learned", "tables", "ordered", "converged", "configured", "switch"], colour: (event) => event.error ? "cut" : "server" },
  { title: "traffic", kinds: ["measurement", "measurement-ended"], colour: (event) => event.error ? "cut" : "switch" },
  { title: "commands", kinds: ["command", "command-ended", "lab", "dropped"], colour: () => "quiet" },
  { title: "alarms", kinds: ["process-ended", "process-restarted", "alarm"], colour: () => "cut" },
];
const LEFT = 84, TOP = 4, LOAD = 26, ROW = 14, AXIS = 16, NEAR = 7;
export const HEIGHT = TOP + LOAD + ROWS.length * ROW + AXIS;
const ROW_OF = new Map(ROWS.flatMap((row, index) => row.kinds.map((kind) => [kind, index])));

export class Timeline {
  // `onTime(at)`, `onEvent(event)` when one is chosen, `onSpan()` when another part of the time is shown.
  constructor(canvas, model, picture, { onTime, onEvent, onSpan }) {
    Object.assign(this, { canvas, model, picture, onTime, onEvent, onSpan });
    this.context = canvas.getContext("2d");
    this.span = 120; // seconds
    this.hover = null;
    this.chosen = null;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => this.setHover(null));
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  resize() {
    const dense = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    Object.assign(this, { dense, width: box.width });
    this.canvas.width = Math.round(box.width * dense);
    this.canvas.height = Math.round(HEIGHT * dense);
    this.request();
  }

  request() {
    this.requested ??= requestAnimationFrame(() => { this.requested = null; this.paint(); });
  }

  // --- times and places -------------------------------------------------------

  // The time that charts show as well.
  get axis() {
    const { until } = this;
    return { from: until - this.span, until, at: this.model.at, wall: (clock) => this.model.wall(clock) };
  }

  get until() {
    const { at, newest } = this.model;
    return at !== null && at < newest - this.span ? Math.min(newest, at + this.span / 2) : newest;
  }

  x(clock) { return LEFT + (this.width - LEFT - 8) * (1 - (this.until - clock) / this.span); }
  clock(x) { return this.until - this.span * (1 - (x - LEFT) / (this.width - LEFT - 8)); }
  y(event) { return TOP + LOAD + ROW * (ROW_OF.get(event.kind) ?? 3) + ROW / 2; }
  visible() { return this.model.since(this.until - this.span - 0.001).filter((event) => event.clock <= this.until); }

  // --- painting ---------------------------------------------------------------

  paint() {
    const { context, dense, picture } = this;
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, this.width, HEIGHT);
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    this.paintRows();
    this.paintLoad();
    this.paintAxis();
    for (const event of this.visible()) this.paintEvent(event);
    for (const event of [this.hover, this.chosen]) if (event) this.paintEvent(event, true);
    if (this.model.at !== null) this.paintTime(this.x(this.model.at), picture.colour("ink"));
  }

  paintRows() {
    const { context, picture } = this;
    context.textAlign = "left";
    [{ title: "load" }, ...ROWS].forEach(({ title }, index) => {
      const y = index ? TOP + LOAD + ROW * (index - 0.5) : TOP + LOAD / 2;
      context.fillStyle = picture.colour("quiet");
      context.fillText(title, 10, y);
      context.strokeStyle = picture.colour("line");
      context.lineWidth = 1;
      context.beginPath();
      const base = index ? y : TOP + LOAD;
      context.moveTo(LEFT, base);
      context.lineTo(this.width - 8, base);
      context.stroke();
    });
  }

  paintLoad() {
    const { context, picture } = this, from = this.until - this.span;
    const points = this.model.series().filter(({ at }) => at >= from - 2 && at <= this.until);
    const most = Math.max(1e4, ...points.map(({ value }) => value));
    if (points.length < 2) return;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, this.width - LEFT, TOP + LOAD);
    context.clip();
    context.beginPath();
    context.moveTo(this.x(points[0].at), TOP + LOAD);
    for (const { at, value } of points) context.lineTo(this.x(at), TOP + LOAD - (LOAD - 3) * value / most);
    context.lineTo(this.x(points.at(-1).at), TOP + LOAD);
    context.fillStyle = picture.colour("cold");
    context.globalAlpha = 0.45;
    context.fill();
    context.restore();
    context.fillStyle = picture.colour("quiet");
    if (most > 1e4) context.fillText(`up to ${bits(most)}`, LEFT + 4, TOP + 7);
  }

  paintAxis() {
    const { context, picture } = this;
    const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600].find((one) => this.span / one <= this.width / 90) ?? 1200;
    context.fillStyle = picture.colour("quiet");
    context.textAlign = "center";
    const first = Math.ceil(this.model.wall(this.until - this.span) / step) * step;
    for (let wall = first; wall <= this.model.wall(this.until); wall += step) {
      const x = this.x(wall - (this.model.offset ?? 0));
      if (x > LEFT + 25 && x < this.width - 30) context.fillText(clockTime(wall), x, HEIGHT - AXIS / 2);
    }
  }

  paintEvent(event, strong = false) {
    const { context, picture } = this, x = this.x(event.clock), y = this.y(event);
    if (x < LEFT - 1) return;
    context.fillStyle = context.strokeStyle = picture.colour(strong ? "ink" : ROWS[ROW_OF.get(event.kind) ?? 3].colour(event));
    const size = strong ? 5 : 3.5;
    context.beginPath();
    if (event.kind === "link" && !event.up) { // a cross, not only a colour
      context.lineWidth = strong ? 2.5 : 1.8;
      for (const side of [-1, 1]) {
        context.moveTo(x - size, y - side * size);
        context.lineTo(x + size, y + side * size);
      }
      context.stroke();
    } else if (event.kind === "converged") {
      context.rect(x - size, y - size, 2 * size, 2 * size);
      context.fill();
    } else {
      context.arc(x, y, size, 0, 2 * Math.PI);
      context.fill();
    }
  }

  paintTime(x, colour) {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, HEIGHT - AXIS);
    context.stroke();
  }

  // --- pointer and keys ---------------------------------------------------------

  eventAt({ offsetX, offsetY }) {
    let best = null, least = NEAR;
    for (const event of this.visible()) {
      const far = Math.hypot(this.x(event.clock) - offsetX, this.y(event) - offsetY);
      if (far <= least) [best, least] = [event, far];
    }
    return best;
  }

  point(event) {
    if (this.dragging) this.goTo(this.clock(event.offsetX));
    else this.setHover(this.eventAt(event));
  }

  setHover(event) {
    if (this.hover === event) return;
    this.hover = event;
    this.canvas.title = event ? `${clockTime(event.at)} ${eventText(event)}` : "";
    this.request();
  }

  press(event) {
    const found = this.eventAt(event);
    if (found) {
      this.choose(found);
      return;
    }
    if (event.offsetX < LEFT) return;
    this.dragging = true;
    this.canvas.setPointerCapture(event.pointerId);
    this.goTo(this.clock(event.offsetX));
    const end = () => { this.dragging = false; };
    this.canvas.addEventListener("pointerup", end, { once: true });
    this.canvas.addEventListener("pointercancel", end, { once: true });
  }

  choose(event) {
    this.chosen = event;
    this.onTime(event.clock);
    this.onEvent(event);
    this.request();
  }

  // A time near the end is now.
  goTo(clock) {
    const { oldest, newest } = this.model, live = clock >= newest - this.span / 200;
    if (live) this.chosen = null;
    this.onTime(live ? null : Math.max(oldest, clock));
    this.request();
  }

  wheel(event) {
    event.preventDefault();
    this.span = Math.min(1800, Math.max(2, this.span * Math.exp(event.deltaY / 500)));
    this.onSpan();
    this.request();
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) this.step(step);
    else if (event.key === "Escape" || event.key === "End") this.goTo(Infinity);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // To the event before or after.
  step(step) {
    const { events } = this.model, here = this.chosen ? events.indexOf(this.chosen) : events.length;
    const next = events[Math.max(0, here + step)];
    if (next) this.choose(next); else this.goTo(Infinity);
  }
}
