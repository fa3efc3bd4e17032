// One time line for two labs: a lane of events each, and the time that both show.

const LEFT = 12, AXIS = 16, LANE = 22;
const COLOURS = { link: (event) => event.up ? "path" : "cut", measurement: () => "switch", "measurement-ended": () => "switch" };
const SHOWN = ["link", "learned", "tables", "converged", "measurement", "measurement-ended"];

export class Lanes {
  // `range()`: the first and the last time; `time()`: the one shown, null: the last; `seek(time)` shows another.
  constructor(canvas, sides, origins, { range, time, seek }) {
    Object.assign(this, { canvas, sides, origins, range, time, seek });
    this.context = canvas.getContext("2d");
    const drag = (event) => this.seek(this.timeAt(event.offsetX));
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.dragging = true;
      drag(event);
    });
    canvas.addEventListener("pointermove", (event) => { if (this.dragging) drag(event); });
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, () => { this.dragging = false; });
    new ResizeObserver(() => this.request()).observe(canvas);
  }

  request() {
    this.requested ??= requestAnimationFrame(() => { this.requested = null; this.paint(); });
  }

  get width() { return this.canvas.getBoundingClientRect().width; }
  x(time) { const [from, until] = this.range(); return LEFT + (this.width - 2 * LEFT) * (time - from) / Math.max(1e-9, until - from); }
  timeAt(x) { const [from, until] = this.range(); return Math.max(from, Math.min(until, from + (until - from) * (x - LEFT) / (this.width - 2 * LEFT))); }

  paint() {
    const { canvas, context } = this, dense = window.devicePixelRatio || 1, { height } = canvas.getBoundingClientRect();
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(`--${name}`).trim();
    canvas.width = Math.round(this.width * dense);
    canvas.height = Math.round(height * dense);
    context.setTransform(dense, 0, 0, dense, 0, 0);
    this.sides.forEach(({ model }, side) => {
      const y = LANE * (side + 0.5);
      context.strokeStyle = colour("line");
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(this.width - LEFT, y);
      context.stroke();
      for (const event of model.events) {
        if (!SHOWN.includes(event.kind)) continue;
        const x = this.x(event.clock - this.origins[side]);
        if (x < LEFT - 1 || x > this.width) continue;
        context.fillStyle = context.strokeStyle = colour((COLOURS[event.kind] ?? (() => "server"))(event));
        this.mark(event, x, y);
      }
    });
    this.axis(colour, height);
    const at = this.time();
    if (at === null) return;
    context.strokeStyle = colour("ink");
    context.beginPath();
    context.moveTo(this.x(at), 0);
    context.lineTo(this.x(at), height - AXIS);
    context.stroke();
  }

  mark(event, x, y) {
    const { context } = this;
    context.beginPath();
    if (event.kind === "link" && !event.up) {
      context.lineWidth = 1.8;
      for (const side of [-1, 1]) {
        context.moveTo(x - 4, y - side * 4);
        context.lineTo(x + 4, y + side * 4);
      }
      context.stroke();
    } else {
      context.arc(x, y, 3.5, 0, 2 * Math.PI);
      context.fill();
    }
    context.lineWidth = 1;
  }

  axis(colour, height) {
    const { context } = this, [from, until] = this.range();
    const step = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300].find((one) => (until - from) / one <= this.width / 90) ?? 600;
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.textAlign = "center";
    context.fillStyle = colour("quiet");
    for (let time = Math.ceil(from / step) * step; time <= until; time += step) {
      const x = this.x(time);
      if (x > 24 && x < this.width - 24) context.fillText(`${Number(time.toFixed(3))} s`, x, height - 4);
    }
  }
}
