// Pointers on the picture: point, choose, drag, pinch, wheel.

const STILL = 4; // pixels that a pointer may move between press and release, and still choose

export class Gestures {
  constructor(picture, { onHover, onChoose }) {
    Object.assign(this, { picture, onHover, onChoose, camera: picture.camera });
    this.pointers = new Map();
    const { canvas } = picture;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => onHover(null));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  place(event) {
    const box = this.picture.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  // What is at a place: {node} or {link}, or null.
  at(place, reach) {
    const { geometry } = this.picture, point = this.camera.world(place);
    const node = geometry.nodeAt(point, reach / this.camera.scale);
    if (node !== null) return { node };
    const link = geometry.linkAt(point, reach / this.camera.scale);
    return link === null ? null : { link };
  }

  press(event) {
    if (event.button) return;
    this.picture.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    this.start = this.place(event);
    this.moved = this.pointers.size > 1;
  }

  move(event) {
    const here = this.place(event), before = this.pointers.get(event.pointerId);
    if (!before) {
      this.onHover(this.at(here, 6), here);
      return;
    }
    if (!this.moved && Math.hypot(here.x - this.start.x, here.y - this.start.y) < STILL) return;
    this.moved = true;
    this.picture.canvas.classList.add("moving");
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.camera.move((here.x - before.x) / (1 + others.length), (here.y - before.y) / (1 + others.length));
    if (others.length) this.camera.zoom(apart(here, others[0]) / apart(before, others[0]), others[0]);
    this.pointers.set(event.pointerId, here);
    this.picture.request();
  }

  release(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    this.picture.canvas.classList.remove("moving");
    if (event.type === "pointerup" && !this.moved) this.onChoose(this.at(this.place(event), event.pointerType === "mouse" ? 6 : 14));
  }

  wheel(event) {
    event.preventDefault();
    const pixels = event.deltaMode ? 30 * event.deltaY : event.deltaY;
    this.camera.zoom(Math.exp(-Math.max(-300, Math.min(300, pixels)) / 500), this.place(event));
    this.picture.request();
  }
}

const apart = (one, other) => Math.max(1, Math.hypot(one.x - other.x, one.y - other.y));
