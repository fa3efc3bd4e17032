// Which part of the drawing is seen.  The drawing never leaves the window: its middle stays inside.

const MARGIN = 2.2, LARGEST = 70; // in radii of nodes: around the drawing; in pixels: the radius of a node

export class Camera {
  constructor(bounds, radius) {
    this.radius = radius;
    const margin = MARGIN * radius;
    this.bounds = {
      left: bounds.left - margin, top: bounds.top - margin,
      right: bounds.right + margin, bottom: bounds.bottom + margin,
    };
    Object.assign(this, { x: 0, y: 0, scale: 1, width: 1, height: 1, fitted: true });
  }

  // Size of the window in pixels; a drawing that filled the window still does.
  resize(width, height) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    if (this.fitted) this.fit(); else this.clamp();
  }

  get fitScale() {
    const { left, right, top, bottom } = this.bounds;
    return Math.min(this.width / (right - left), this.height / (bottom - top));
  }

  fit() {
    const { left, right, top, bottom } = this.bounds;
    Object.assign(this, { x: (left + right) / 2, y: (top + bottom) / 2, scale: this.fitScale, fitted: true });
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

  world({ x, y }) {
    return { x: (x - this.width / 2) / this.scale + this.x, y: (y - this.height / 2) / this.scale + this.y };
  }

  screen({ x, y }) {
    return { x: (x - this.x) * this.scale + this.width / 2, y: (y - this.y) * this.scale + this.height / 2 };
  }
}
