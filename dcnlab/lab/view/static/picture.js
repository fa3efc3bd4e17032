// Paints the network on a canvas.  The network itself is painted once per state into a copy larger than the
// window; while the picture is moved, the copy is moved.  What is chosen or pointed at is painted over it.

import { DASHES, LINES } from "./colouring.js";
import { MARGIN as MARGIN_OF_FIT } from "./camera.js";
import { bits, count } from "./dom.js";
import { FONT, LEAST, paintBadges, paintNamesBeside } from "./names.js";
import { lookOf, scales, STEPS, widthOf } from "./looks.js";

const MARGIN = 0.3;        // of the window, around it in the copy
const LARGE = 300;         // from so many nodes: thin links, and details only where there is room for them
const FAINT = 0.4;         // opacity of links that pass through nodes that they do not join
const TEXT = 6.5;          // pixels: names are shown in nodes with such a radius
const MOST_LETTERS = 5;    // of a name inside its node
const MOST_WORDS = 40;     // cut or impaired links that have a word beside them

export class Picture {
  constructor(canvas, model, geometry, camera) {
    Object.assign(this, { canvas, model, geometry, camera });
    this.context = canvas.getContext("2d", { alpha: false });
    this.copy = document.createElement("canvas");
    this.copied = null;      // the camera of the copy
    this.stale = true;
    this.onFold = () => {};  // hosts became badges of their switches, or are drawn again
    this.times = [];         // milliseconds that frames took, for the benchmark
    this.marks = { nodes: [], link: null, path: [], hover: null, focus: null, arrows: [], colours: null, tree: [], links: new Map(), paths: [], packet: null, motion: null };
    this.servers = model.nodes.flatMap((node, number) => node.kind === "server" ? [number] : []);
    this.switches = model.nodes.flatMap((node, number) => node.kind === "server" ? [] : [number]);
    this.readColours();
  }

  get large() { return this.model.nodes.length > LARGE; }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = (name) => this.colours[name] ??= style.getPropertyValue(`--${name}`).trim();
    this.colours = {};
    const mix = (from, to, part) => `color-mix(in oklab, ${to} ${Math.round(100 * part)}%, ${from})`;
    Object.assign(this, scales(this.colour, mix));
    this.steps = this.known;
    this.change();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect(), dense = window.devicePixelRatio || 1;
    this.dense = dense;
    this.canvas.width = Math.max(1, Math.round(box.width * dense));
    this.canvas.height = Math.max(1, Math.round(box.height * dense));
    if (this.camera.fitted) {
      this.geometry.fill(box.width - 2 * MARGIN_OF_FIT, box.height - 2 * MARGIN_OF_FIT);
      this.camera.around(this.geometry.bounds);
    }
    this.camera.resize(box.width, box.height);
    this.change();
  }

  // Something else is to be seen: the next frame paints it.
  change() {
    this.stale = true;
    this.request();
  }

  request() {
    this.requested ??= requestAnimationFrame(() => {
      this.requested = null;
      const begin = performance.now();
      this.paint();
      this.times.push(performance.now() - begin);
      if (this.times.length > 2000) this.times.shift();
    });
  }

  paint() {
    const moved = !this.copied || ["x", "y", "scale"].some((key) => this.copied[key] !== this.camera[key]);
    if (this.stale || (moved && (!this.large || !this.covers()))) this.paintCopy();
    else if (moved) this.paintLater();
    const { context, copied, camera, dense } = this, factor = camera.scale / copied.scale;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.colour("paper");
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const at = camera.screen(copied.corner);
    context.drawImage(this.copy, at.x * dense, at.y * dense, this.copy.width * factor, this.copy.height * factor);
    this.paintMarks();
  }

  // Whether the copy fills the window, not much too coarse.
  covers() {
    const { copied, camera } = this, factor = camera.scale / copied.scale;
    if (factor > 2.5 || factor < 0.4) return false;
    const from = camera.screen(copied.corner);
    const to = { x: from.x + copied.width * factor, y: from.y + copied.height * factor };
    const whole = camera.bounds, low = camera.screen({ x: whole.left, y: whole.top });
    const high = camera.screen({ x: whole.right, y: whole.bottom });
    return from.x <= Math.max(0, low.x) && from.y <= Math.max(0, low.y)
      && to.x >= Math.min(camera.width, high.x) && to.y >= Math.min(camera.height, high.y);
  }

  // When the picture rests, the copy becomes sharp.
  paintLater() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.change(), 150);
  }

  // --- the copy ---------------------------------------------------------------

  paintCopy() {
    clearTimeout(this.later);
    this.stale = false;
    const { camera, dense, copy } = this;
    const aside = { x: MARGIN * camera.width, y: MARGIN * camera.height };
    const width = camera.width + 2 * aside.x, height = camera.height + 2 * aside.y;
    copy.width = Math.round(width * dense);
    copy.height = Math.round(height * dense);
    this.geometry.see(camera.scale);
    const corner = camera.world({ x: -aside.x, y: -aside.y });
    this.copied = { x: camera.x, y: camera.y, scale: camera.scale, corner, width, height };
    const context = copy.getContext("2d", { alpha: false }), scale = camera.scale * dense;
    context.fillStyle = this.colour("paper");
    context.fillRect(0, 0, copy.width, copy.height);
    context.setTransform(scale, 0, 0, scale, -corner.x * scale, -corner.y * scale);
    context.lineCap = "round";
    this.seen = this.seenNodes(corner, width, height);
    this.paintCoast(context);
    this.paintLinks(context);
    this.paintNodes(context);
  }

  // Where the network is on a map, its coast.
  paintCoast(context) {
    if (!this.model.coast) return;
    const path = new Path2D();
    for (const line of this.model.coast) line.forEach(([x, y], index) => { if (index) path.lineTo(x, y); else path.moveTo(x, y); });
    context.strokeStyle = this.colour("coast");
    context.lineWidth = 1 / this.camera.scale;
    context.stroke(path);
  }

  seenNodes(corner, width, height) {
    const { radius } = this.geometry, { scale } = this.camera;
    const right = corner.x + width / scale + radius, bottom = corner.y + height / scale + radius;
    return this.model.nodes.map(({ x, y }, number) => !this.geometry.isFolded(number)
      && x > corner.x - radius && x < right && y > corner.y - radius && y < bottom);
  }

  paintLinks(context) {
    const { model, geometry, camera } = this, down = model.down, thin = this.large ? 0.7 : 1.4;
    const idle = new Path2D(), faint = new Path2D(), busy = new Map();
    this.paintHalos(context, down);
    model.links.forEach((link, number) => {
      if (down.has(number) || geometry.isFoldedLink(number)) return;
      const look = lookOf(model, number), key = look && `${look.known ? "known" : "plain"} ${look.step}`;
      if (look && !busy.has(key)) busy.set(key, { look, path: new Path2D() });
      geometry.trace(look ? busy.get(key).path : link.faint ? faint : idle, number);
    });
    context.strokeStyle = this.colour("link");
    context.globalAlpha = this.large ? 0.55 : 1;
    context.lineWidth = thin / camera.scale;
    context.stroke(idle);
    context.globalAlpha = FAINT;
    context.stroke(faint);
    context.globalAlpha = 1;
    for (const { look, path } of [...busy.values()].sort((one, other) => one.look.step - other.look.step)) {
      context.strokeStyle = this[look.known ? "known" : "plain"][look.step];
      context.lineWidth = widthOf(look, thin, this.large ? 3.5 : 6.5) / camera.scale;
      context.stroke(path);
    }
    for (const number of down) this.paintCut(context, number, 2.2, down.size <= MOST_WORDS);
    this.paintImpairments(context, down);
  }

  // A cut link: dashed, with a cross, and a word where there is room.
  paintCut(context, number, width, withWord = false) {
    const { scale } = this.camera, path = new Path2D(), cross = new Path2D(), { x, y } = this.geometry.along(number, 0.5);
    this.geometry.trace(path, number);
    context.strokeStyle = this.colour("cut");
    context.lineWidth = width / scale;
    context.setLineDash([6 / scale, 6 / scale]);
    context.stroke(path);
    context.setLineDash([]);
    const size = Math.min(5 / scale, this.geometry.radius);
    for (const side of [1, -1]) {
      cross.moveTo(x - size, y - side * size);
      cross.lineTo(x + size, y + side * size);
    }
    context.lineWidth = (width + 0.6) / scale;
    context.stroke(cross);
    if (withWord) this.word(context, "cut", x, y + size, "cut");
  }

  // Impaired links have a halo, and what is imposed on them as a label.
  paintHalos(context, down) {
    const path = new Path2D();
    for (const number of this.model.impaired.keys()) if (!down.has(number)) this.geometry.trace(path, number);
    context.strokeStyle = this.colour("halo");
    context.lineWidth = (this.large ? 5 : 11) / this.camera.scale;
    context.globalAlpha = 0.55;
    context.stroke(path);
    context.globalAlpha = 1;
  }

  paintImpairments(context, down) {
    const { impaired } = this.model;
    if (impaired.size > MOST_WORDS) return;
    for (const [number, words] of impaired) {
      if (down.has(number)) continue;
      const { x, y } = this.geometry.along(number, 0.5);
      this.word(context, words, x, y, "ink");
    }
  }

  // A word below a point, on paper.
  word(context, text, x, y, colour) {
    const { scale } = this.camera, size = 11;
    context.save();
    context.translate(x, y);
    context.scale(1 / scale, 1 / scale);
    context.font = `${size}px ${FONT}`;
    context.textAlign = "center";
    context.textBaseline = "top";
    const width = context.measureText(text).width;
    context.globalAlpha = 0.85;
    context.fillStyle = this.colour("paper");
    context.fillRect(-width / 2 - 2, 2, width + 4, size + 2);
    context.globalAlpha = 1;
    context.fillStyle = this.colour(colour);
    context.fillText(text, 0, 3);
    context.restore();
  }

  paintNodes(context) {
    for (const [kind, numbers] of [["server", this.servers], ["switch", this.switches]]) {
      const shown = numbers.filter((number) => this.seen[number]), path = new Path2D();
      for (const number of shown) this.face(path, number);
      context.fillStyle = this.colour(`${kind}-face`);
      context.strokeStyle = this.colour(kind);
      context.lineWidth = Math.min(2 / this.camera.scale, 0.4 * this.geometry.radius);
      context.fill(path);
      this.paintTints(context, shown);
      context.stroke(path);
      this.paintNames(context, shown, this.colour("ink"));
    }
    this.named = paintNamesBeside(context, this);
    this.onFold(this.geometry.folded);
    if (this.geometry.folded) paintBadges(context, this);
  }

  // Whether a name is written inside its node.
  fits(name) { return name.length <= MOST_LETTERS && this.geometry.radius * this.camera.scale >= TEXT; }


  // The faces of nodes that have a colour of their own, all of one colour at once.
  paintTints(context, numbers) {
    const paths = new Map();
    for (const number of numbers) {
      const colour = this.marks.colours?.get(number);
      if (!colour) continue;
      if (!paths.has(colour)) paths.set(colour, new Path2D());
      this.face(paths.get(colour), number);
    }
    for (const [colour, path] of paths) {
      context.fillStyle = colour;
      context.fill(path);
    }
  }

  face(path, number, more = 1) {
    const node = this.model.nodes[number], r = Math.max(more * this.geometry.radius, LEAST / this.camera.scale);
    if (node.kind === "server") {
      path.moveTo(node.x + r, node.y);
      path.arc(node.x, node.y, r, 0, 2 * Math.PI);
    } else path.roundRect(node.x - r, node.y - r, 2 * r, 2 * r, r / 3);
  }

  paintNames(context, numbers, colour) {
    const r = this.geometry.radius;
    context.fillStyle = colour;
    context.textAlign = "center";
    context.textBaseline = "middle";
    // Fonts have whole pixels: text is written ten times as large, on a scale ten times as small.
    for (const number of numbers) {
      const node = this.model.nodes[number];
      if (!this.fits(node.name) || node.title) continue;
      context.save();
      context.translate(node.x, node.y);
      context.scale(r / 100, r / 100);
      context.font = `${node.name.length > 4 ? 58 : node.name.length > 3 ? 68 : 85}px ${FONT}`;
      context.fillText(node.name, 0, 4);
      context.restore();
    }
  }

  // --- what is painted over it --------------------------------------------------

  paintMarks() {
    const { context, camera, dense, marks } = this, scale = camera.scale * dense;
    context.setTransform(scale, 0, 0, scale,
      (camera.width / 2 - camera.x * camera.scale) * dense, (camera.height / 2 - camera.y * camera.scale) * dense);
    context.lineCap = "round";
    for (const mark of [marks.hover, marks.focus]) if (mark) this.paintNeighbourhood(context, mark);
    if (marks.link !== null) this.paintLink(context, marks.link);
    for (const [link, part] of marks.links) this.strokeLink(context, link, this.steps[Math.round(part * STEPS)], 1.5 + 6 * part);
    for (const link of marks.tree) this.strokeLink(context, link, "ink", 2.5, 0.7);
    marks.paths.forEach((links, index) => this.paintParallel(context, links, index));
    for (const link of marks.path) this.strokeLink(context, link, "path", 7, 0.6);
    this.paintArrows(context);
    const onPath = this.endsOf(marks.path), beside = this.endsOf([...marks.links.keys(), ...marks.tree, ...marks.paths.flat()]);
    for (const node of beside) if (!onPath.has(node)) this.repaint(context, node);
    for (const node of onPath) this.repaint(context, node, "path");
    for (const node of marks.nodes) this.paintChosen(context, node);
    if (marks.focus) this.paintFocus(context, marks.focus);
    if (marks.packet) this.paintPacket(context, marks.packet);
    marks.motion?.paint(context, this);
  }

  endsOf(links) { return new Set(links.flatMap((link) => [this.model.links[link].a, this.model.links[link].b])); }

  // One of several parallel paths: a colour and a dash of its own.
  paintParallel(context, links, index) {
    const { scale } = this.camera;
    context.setLineDash(DASHES[index % DASHES.length].map((length) => length / scale));
    for (const link of links) this.strokeLink(context, link, LINES[index % LINES.length], 4);
    context.setLineDash([]);
  }

  // A packet on a link: {link, from, t}, t from 0 at the node `from` to 1.
  paintPacket(context, { link, from, t }) {
    const { x, y } = this.geometry.along(link, this.model.links[link].a === from ? t : 1 - t), path = new Path2D();
    path.arc(x, y, 8 / this.camera.scale, 0, 2 * Math.PI);
    context.fillStyle = this.colour("hot");
    context.strokeStyle = this.colour("paper");
    context.lineWidth = 2 / this.camera.scale;
    context.fill(path);
    context.stroke(path);
  }

  paintNeighbourhood(context, { node, link }) {
    if (link !== undefined) {
      this.paintLink(context, link);
      return;
    }
    for (const { index, peer } of this.model.ports[node]) {
      if (this.model.down.has(index)) this.paintCut(context, index, 2.6, true);
      else this.strokeLink(context, index, "ink", 2);
      this.repaint(context, peer);
    }
    this.repaint(context, node);
  }

  // A link, with its ends over it.
  paintLink(context, number) {
    if (this.model.down.has(number)) this.paintCut(context, number, 4, true);
    else {
      const words = this.model.impaired.get(number), { x, y } = this.geometry.along(number, 0.5);
      if (words) this.strokeLink(context, number, "halo", 12, 0.8);
      this.strokeLink(context, number, "ink", 3);
      if (words) this.word(context, words, x, y, "ink");
    }
    for (const end of ["a", "b"]) this.repaint(context, this.model.links[number][end]);
  }

  // A node over links that were painted over it.
  repaint(context, number, colour = null) {
    const { kind } = this.model.nodes[number], path = new Path2D();
    this.face(path, number);
    context.fillStyle = this.marks.colours?.get(number) ?? this.colour(`${kind}-face`);
    context.fill(path);
    this.ring(context, number, colour ?? kind, Math.min(3, 0.3 * this.geometry.radius * this.camera.scale));
    this.paintNames(context, [number], this.colour("ink"));
  }

  strokeLink(context, number, colour, width, alpha = 1) {
    const path = new Path2D();
    this.geometry.trace(path, number);
    context.strokeStyle = /^(#|color-mix)/.test(colour) ? colour : this.colour(colour);
    context.lineWidth = width / this.camera.scale;
    context.globalAlpha = alpha;
    context.stroke(path);
    context.globalAlpha = 1;
  }

  ring(context, number, colour, width, more = 1) {
    const path = new Path2D();
    this.face(path, number, more);
    context.strokeStyle = this.colour(colour);
    context.lineWidth = width / this.camera.scale;
    context.stroke(path);
  }

  paintChosen(context, number) {
    const path = new Path2D(), { scale } = this.camera;
    this.face(path, number, Math.max(1, 4 / (this.geometry.radius * scale)));
    context.fillStyle = this.colour(this.model.nodes[number].kind);
    context.fill(path);
    this.paintNames(context, [number], this.colour("panel"));
  }

  paintFocus(context, { node, link }) {
    const { scale } = this.camera, r = this.geometry.radius;
    if (link === undefined) {
      this.ring(context, node, "ink", 2.5, Math.max(1.3, 7 / (r * scale)));
      return;
    }
    this.strokeLink(context, link, "ink", 4);
    const { x, y } = this.geometry.along(link, 0.5), path = new Path2D();
    path.arc(x, y, 6 / scale, 0, 2 * Math.PI);
    context.fillStyle = this.colour("ink");
    context.fill(path);
  }

  // Next hops: arrows along links, as wide as their weight.
  paintArrows(context) {
    const { scale } = this.camera, r = this.geometry.radius;
    context.strokeStyle = context.fillStyle = this.colour("path");
    for (const { link, from, weight } of this.marks.arrows) {
      const { at, until, tip, turn } = this.geometry.arrow(link, from);
      const size = Math.min(9 / scale, 0.9 * r) * (0.5 + 0.5 * weight), path = new Path2D();
      path.moveTo(tip.x, tip.y);
      for (const side of [2.6, -2.6]) path.lineTo(tip.x + size * Math.cos(turn + side), tip.y + size * Math.sin(turn + side));
      path.closePath();
      context.fill(path);
      context.lineWidth = Math.min(2 / scale, 0.3 * r) * (0.4 + 0.6 * weight);
      context.stroke(this.shaft(at, this.model.nodes[from], until));
    }
  }

  // The part of a link from the edge of a node to an arrow's tip.
  shaft(at, node, until) {
    const path = new Path2D(), steps = 12;
    let drawn = false;
    for (let step = 0; step <= steps; step += 1) {
      const { x, y } = at(until * step / steps);
      if (Math.hypot(x - node.x, y - node.y) < 1.1 * this.geometry.radius) continue;
      if (drawn) path.lineTo(x, y); else path.moveTo(x, y);
      drawn = true;
    }
    return path;
  }

  // --- for others ---------------------------------------------------------------

  title(mark) {
    const { model } = this, { link } = mark;
    if (link === undefined) {
      const node = model.nodes[mark.node];
      const hosts = this.geometry.folded && model.hostsOf.get(mark.node);
      return `${node.name} ${node.label === node.name ? "" : node.label}${node.ipv4 ? ` ${node.ipv4}` : ""}${hosts ? ` · ${count(hosts, "host")}` : ""}`;
    }
    if (model.down.has(link)) return `${model.linkName(link)}: cut`;
    const rate = model.capacity(link), words = model.impaired.get(link);
    const loads = [0, 1].map((direction) => `${"→←"[direction]} ${bits(model.rate(link, direction))}`).join("  ");
    return `${model.linkName(link)}: ${loads}${rate ? ` of ${bits(rate)}` : ""}${words ? ` · ${words}` : ""}`;
  }

  png() {
    return new Promise((resolve) => { this.paint(); this.canvas.toBlob(resolve, "image/png"); });
  }
}
