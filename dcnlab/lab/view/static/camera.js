// Which part of the drawing is seen.  The drawing never leaves the window: its middle stays inside.

export const MARGIN = 32;
const LARGEST = 70; // pixels: around the drawing (MARGIN), and the most of a node's radius

export class Camera {
  // `onFit(scale)` when the whole drawing is shown at a scale.
  constructor(bounds, radius, onFit = () => {}) {
    Object.assign(this, { radius, onFit });
    this.around(bounds);
    Object.assign(this, { x: 0, y: 0, scale: 1, width: 1, height: 1, fitted: true });
  }

  around({ left, right, top, bottom }) {
    this.bounds = { left: left - this.radius, top: top - this.radius, right: right + this.radius, bottom: bottom + this.radius };
  }

  // Size of the window in pixels; a drawing that filled the window still does.
  resize(width, height) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    if (this.fitted) this.fit(); else this.clamp();
  }

  get fitScale() {
    const { left, right, top, bottom } = this.bounds;
    const [width, height] = [this.width, this.height].map((size) => Math.max(0.6 * size, size - 2 * MARGIN));
    return Math.min(width / (right - left), height / (bottom - top));
  }

  fit() {
    const { left, right, top, bottom } = this.bounds;
    Object.assign(this, { x: (left + right) / 2, y: (top + bottom) / 2, scale: this.fitScale, fitted: true });
    this.onFit(this.scale);
  }

  clamp() {
    const { left, right, top, bottom } = this.bounds, least = 0.7 * this.fitScale;
    const most = Math.max(1.5 * this.fitScale, LARGEST / this.radius);
    this.scale = Math.min(most, Math.max(least, this.scale));
    this.x = Math.min(right, Math.max(left, this.x));
    this.y = Math.min(bottom, Math.max(top, this.y));
  }

  move(dx, dy) { // pixels
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.fitted = false;
    this.clamp();
  }

  zoom(factor, at = { x: this.width / 2, y: this.height / 2 }) { // what is at these pixels stays there
    const before = this.world(at);
    this.scale *= factor;
    this.fitted = false;
    this.clamp();
    const after = this.world(at);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
    this.clamp();
  }

  // Move as little as shows a point, away from the edges; the whole network shows every point.
  reveal(point) {
    if (this.fitted) return;
    const at = this.screen(point), room = 60;
    const dx = Math.max(0, room - at.x) - Math.max(0, at.x - this.width + room);
    const dy = Math.max(0, room - at.y) - Math.max(0, at.y - this.height + room);
    if (dx || dy) this.move(dx, dy);
  }

  // Show all points: move, or zoom out as far as needed, where one of them is not seen.
  revealAll(points) {
    if (this.fitted || !points.length) return;
    const room = Math.min(60, 0.15 * Math.min(this.width, this.height));
    const places = points.map((point) => this.screen(point));
    const isSeen = ({ x, y }) => x >= room && x <= this.width - room && y >= room && y <= this.height - room;
    if (places.every(isSeen)) return;
    const xs = points.map(({ x }) => x), ys = points.map(({ y }) => y);
    const left = Math.min(...xs), right = Math.max(...xs), top = Math.min(...ys), bottom = Math.max(...ys);
    const most = Math.min((this.width - 2 * room) / Math.max(1e-9, right - left), (this.height - 2 * room) / Math.max(1e-9, bottom - top));
    Object.assign(this, { scale: Math.min(this.scale, most), x: (left + right) / 2, y: (top + bottom) / 2 });
    this.clamp();
  }

  world({ x, y }) {
    return { x: (x - this.width / 2) / this.scale + this.x, y: (y - this.height / 2) / this.scale + this.y };
  }

  screen({ x, y }) {
    return { x: (x - this.x) * this.scale + this.width / 2, y: (y - this.y) * this.scale + this.height / 2 };
  }
}
