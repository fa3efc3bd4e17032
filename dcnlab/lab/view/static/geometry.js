// The shapes of the drawing: curves of links, the size of nodes, and what is at a point.

const MANY = 8, READABLE = 5; // hosts, and pixels of their radius: fewer, and larger ones, are never badges
const SMALLEST = 10, LARGEST = 28; // pixels: the radius of nodes
const MOST_ROWS = 12, MOST_STRETCH = 2.5;
const STUB = 0.55; // the length of each part of a link that wraps around; neighbours on a grid are 1 apart

export class Geometry {
  constructor(model) {
    this.nodes = model.nodes;
    this.links = model.links;
    this.natural = model.radius ?? radius(model.nodes); // recordings of earlier versions have none
    this.radius = this.natural;
    this.room = 0.42 * spacing(model.nodes);
    // Hosts that would be too small to be seen are badges of their switches, which have more room then.
    this.switchOf = model.switchOf;
    const others = model.nodes.filter((_, node) => !model.switchOf.has(node));
    this.roomOfOthers = model.switchOf.size && others.length > 1 ? 0.3 * spacing(others) : this.room;
    this.folded = false;
    this.controls = model.links.map((link) => link.via ? { x: link.via[0], y: link.via[1] } : this.middle(link, 2));
    this.stubs = model.links.map((link) => link.stub ? this.stub(link) : null);
    this.plain = { y: model.nodes.map(({ y }) => y), controls: this.controls.map(({ y }) => y) };
    this.isLayered = !model.coast && new Set(this.plain.y.map((y) => y.toFixed(2))).size <= Math.min(MOST_ROWS, model.nodes.length / 4);
    this.stretch = 1;
    this.bounds = this.around();
  }

  // Everything that is drawn.
  around() {
    const curves = this.links.flatMap((link, number) => this.stubs[number] ?? (link.via || link.bow ? [0.25, 0.5, 0.75].map((t) => this.along(number, t)) : []));
    const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (const { x, y } of [...this.nodes, ...curves]) {
      bounds.left = Math.min(bounds.left, x);
      bounds.right = Math.max(bounds.right, x);
      bounds.top = Math.min(bounds.top, y);
      bounds.bottom = Math.max(bounds.bottom, y);
    }
    return bounds;
  }

  // Layers of a wide drawing move apart until it is as high as the window is for its width.
  fill(width, height) {
    const { left, right, top, bottom } = this.bounds, flat = (bottom - top) / this.stretch;
    if (!this.isLayered || flat < 1e-6) return;
    const wanted = Math.max(1, Math.min(MOST_STRETCH, height * (right - left) / (width * flat)));
    if (Math.abs(wanted - this.stretch) < 0.01) return;
    this.stretch = wanted;
    this.nodes.forEach((node, number) => { node.y = wanted * this.plain.y[number]; });
    this.controls.forEach((control, number) => { control.y = wanted * this.plain.controls[number]; });
    this.stubs = this.links.map((link) => link.stub ? this.stub(link) : null);
    this.bounds = this.around();
  }

  // The radius of nodes where the whole drawing is seen at a scale: 10 to 28 pixels, as far as there is room.
  fit(scale) {
    const within = (natural, room) => Math.min(LARGEST / scale, Math.max(natural, Math.min(SMALLEST / scale, room)));
    this.fitted = within(this.natural, this.room);
    this.fittedToSwitches = within(Math.min(this.natural, this.roomOfOthers), this.roomOfOthers);
    this.see(scale);
  }

  // What is seen at a scale: hosts by themselves, or as badges.
  see(scale) {
    const radius = this.fitted ?? this.natural;
    this.folded = this.switchOf.size > MANY && radius * scale < READABLE;
    this.radius = this.folded ? Math.max(radius, this.fittedToSwitches ?? 0) : radius;
  }

  isFolded(node) { return this.folded && this.switchOf.has(node); }
  isFoldedLink(link) { return this.folded && (this.switchOf.has(this.links[link].a) || this.switchOf.has(this.links[link].b)); }

  // The outer ends of a link that wraps around: beyond its first end, and beyond its second.
  stub({ a, b }) {
    const from = this.nodes[a], to = this.nodes[b], part = STUB / Math.hypot(to.x - from.x, to.y - from.y);
    const x = part * (to.x - from.x), y = part * (to.y - from.y);
    return [{ x: from.x - x, y: from.y - y }, { x: to.x + x, y: to.y + y }];
  }

  // The middle of a link, moved to its side by a share of its bow.
  middle(link, part) {
    const a = this.nodes[link.a], b = this.nodes[link.b], bow = part * link.bow;
    return { x: (a.x + b.x) / 2 + bow * (b.y - a.y), y: (a.y + b.y) / 2 - bow * (b.x - a.x) };
  }

  trace(path, number) {
    const { a, b, bow, via } = this.links[number], from = this.nodes[a], to = this.nodes[b];
    const stub = this.stubs[number];
    path.moveTo(from.x, from.y);
    if (stub) {
      path.lineTo(stub[0].x, stub[0].y);
      path.moveTo(stub[1].x, stub[1].y);
      path.lineTo(to.x, to.y);
    } else if (bow || via) path.quadraticCurveTo(this.controls[number].x, this.controls[number].y, to.x, to.y);
    else path.lineTo(to.x, to.y);
  }

  // A point of a link: at 0 its first end, at 1 its second.
  along(number, t) {
    const { a, b } = this.links[number], from = this.nodes[a], to = this.nodes[b], mid = this.controls[number];
    const s = 1 - t, stub = this.stubs[number];
    if (stub) return t <= 0.5 ? between(from, stub[0], 2 * t) : between(stub[1], to, 2 * t - 1);
    return {
      x: s * s * from.x + 2 * s * t * mid.x + t * t * to.x,
      y: s * s * from.y + 2 * s * t * mid.y + t * t * to.y,
    };
  }

  // An arrow on a link, away from a node: points `at` it, the end of its shaft, its tip and direction.
  arrow(link, from) {
    const back = this.links[link].a !== from, at = (t) => this.along(link, back ? 1 - t : t);
    const { stub } = this.links[link]; // both points on the part at its first end
    const tip = at(stub ? 0.45 : 0.55), tail = at(stub ? 0.25 : 0.45);
    return { at, until: stub ? 0.4 : 0.52, tip, turn: Math.atan2(tip.y - tail.y, tip.x - tail.x) };
  }

  nodeAt(point, reach) {
    let best = null, least = Math.max(reach, 1.15 * this.radius) ** 2;
    this.nodes.forEach((node, number) => {
      if (this.isFolded(number)) return;
      const far = (node.x - point.x) ** 2 + (node.y - point.y) ** 2;
      if (far < least) [best, least] = [number, far];
    });
    return best;
  }

  linkAt(point, reach) {
    let best = null, least = reach;
    this.links.forEach((link, number) => {
      if (this.isFoldedLink(number)) return;
      const stub = this.stubs[number];
      if (stub) {
        const far = Math.min(distance(point, this.nodes[link.a], stub[0]), distance(point, this.nodes[link.b], stub[1]));
        if (far < least) [best, least] = [number, far];
        return;
      }
      if (!this.isNear(link, number, point, reach)) return;
      const steps = link.bow || link.via ? 12 : 1;
      let before = this.nodes[link.a];
      for (let step = 1; step <= steps; step += 1) {
        const here = this.along(number, step / steps), far = distance(point, before, here);
        if (far < least) [best, least] = [number, far];
        before = here;
      }
    });
    return best;
  }

  isNear({ a, b }, number, { x, y }, reach) {
    const from = this.nodes[a], to = this.nodes[b], mid = this.controls[number];
    return x > Math.min(from.x, to.x, mid.x) - reach && x < Math.max(from.x, to.x, mid.x) + reach
      && y > Math.min(from.y, to.y, mid.y) - reach && y < Math.max(from.y, to.y, mid.y) + reach;
  }

  // The nearest node in a direction (dx, dy), as arrow keys mean it.
  neighbour(from, dx, dy) {
    const here = this.nodes[from];
    let best = from, least = Infinity;
    this.nodes.forEach((node, number) => {
      const x = node.x - here.x, y = node.y - here.y, ahead = x * dx + y * dy, aside = Math.abs(x * dy - y * dx);
      if (ahead > 1e-6 && aside <= 2 * ahead && ahead + 2 * aside < least) [best, least] = [number, ahead + 2 * aside];
    });
    return best;
  }
}

const between = (from, to, t) => ({ x: from.x + t * (to.x - from.x), y: from.y + t * (to.y - from.y) });

// From a point to a straight line between two others.
function distance(point, from, to) {
  const dx = to.x - from.x, dy = to.y - from.y, square = dx * dx + dy * dy || 1;
  const t = Math.min(1, Math.max(0, ((point.x - from.x) * dx + (point.y - from.y) * dy) / square));
  return Math.hypot(point.x - from.x - t * dx, point.y - from.y - t * dy);
}

const radius = (nodes) => Math.min(0.16, 0.42 * spacing(nodes));

// The distance between nodes that are next to each other, without the few smallest ones.
function spacing(nodes) {
  const sorted = [...nodes].sort((one, other) => one.x - other.x);
  const nearest = sorted.map((one, index) => {
    let least = Infinity;
    for (const step of [-1, 1]) {
      for (let at = index + step; at >= 0 && at < sorted.length; at += step) {
        if (Math.abs(sorted[at].x - one.x) >= least) break;
        least = Math.min(least, Math.hypot(sorted[at].x - one.x, sorted[at].y - one.y));
      }
    }
    return least;
  });
  const tight = nearest.sort((a, b) => a - b)[Math.floor(nearest.length / 8)];
  return Number.isFinite(tight) ? tight : 1;
}
