// What moves while time runs: packets along links as many as their load, packets that die in a cut link, and nodes that
// have noticed a failure, learned of it, or changed their tables.

import { losing, ratesAt } from "./episodes.js";
import { share } from "./dom.js";

const PACE = 1.1;          // seconds of the screen that a packet takes along a link
const MOST = 5;            // packets on a link at the highest load
const MOST_LINKS = 1500;
const ENDING = 0.25;      // of a convergence, in which the last packets of a cut link die
const LINGER = 0.6;        // seconds of the lab that nodes stay lit after the network has converged

export class Motion {
  constructor(model, geometry) {
    Object.assign(this, { model, geometry, phase: 0 });
  }

  // `phase`: seconds of the screen that have passed.
  paint(context, picture) {
    const { model } = this, at = model.shown, down = model.down, rates = ratesAt(model, at);
    const episode = model.episodes().findLast((one) => one.begin <= at && at <= one.end + LINGER);
    const moves = rates && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    const cut = new Set(episode && at < episode.end ? losing(episode, model).map(({ link }) => link) : []);
    if (moves) this.packets(context, picture, rates, new Set([...down, ...cut]));
    if (!episode) return;
    if (moves) this.dying(context, picture, episode, at);
    for (const [node, colour] of lit(model, episode, at)) picture.ring(context, node, colour, 4, 1.25);
  }

  packets(context, picture, rates, down) {
    const path = new Path2D(), size = this.size(picture);
    let links = 0;
    for (let index = 0; index < rates.length && links < MOST_LINKS; index += 1) {
      const link = index >> 1, part = share(rates[index]);
      if (part === null || down.has(link)) continue;
      links += 1;
      for (const t of this.places(part, index)) this.dot(path, link, index & 1 ? 1 - t : t, size);
    }
    context.fillStyle = picture.colour("hot");
    context.strokeStyle = picture.colour("paper");
    context.lineWidth = 1.2 / picture.camera.scale;
    context.fill(path);
    context.stroke(path);
  }

  // Packets that are sent into a cut link end at its middle.
  dying(context, picture, episode, at) {
    const { scale } = picture.camera, rates = ratesAt(this.model, episode.begin - 1e-6);
    context.fillStyle = context.strokeStyle = picture.colour("cut");
    for (const { link, direction, from, until } of losing(episode, this.model)) {
      const part = share(rates[2 * link + direction]);
      const over = Math.max(0, (at - until) / (ENDING * (episode.end - from))); // no more packets follow
      if (part === null || at < from || over > 1) continue;
      for (const t of this.places(part, 2 * link + direction)) {
        if (t < over) continue;
        const path = new Path2D(), gone = Math.max(0, (t - 0.5) / 0.35), half = Math.min(0.5, t);
        if (gone > 1) continue;
        this.dot(path, link, direction ? 1 - half : half, this.size(picture) * (1 + 2.5 * gone));
        context.globalAlpha = 1 - gone;
        if (gone) {
          context.lineWidth = 2 / scale;
          context.stroke(path);
        } else context.fill(path);
      }
      context.globalAlpha = 1;
    }
  }

  size({ camera, geometry }) { return Math.min(4.5 / camera.scale, 0.35 * geometry.radius); }

  // Where the packets of a direction of a link are: from 0, where they are sent, to 1.
  places(part, seed) {
    const number = 1 + Math.round((MOST - 1) * part), first = this.phase / PACE + (seed * 0.618) % 1;
    return Array.from({ length: number }, (_, index) => (first + index / number) % 1);
  }

  dot(path, link, t, size) {
    const { x, y } = this.geometry.along(link, t), { a, b } = this.geometry.links[link], { nodes, radius } = this.geometry;
    if ([a, b].some((end) => Math.hypot(x - nodes[end].x, y - nodes[end].y) < radius)) return; // it is in the node
    path.moveTo(x + size, y);
    path.arc(x, y, size, 0, 2 * Math.PI);
  }
}

// The nodes that know by now, and how: noticed it themselves, were told, or have another table.
export function lit(model, { parts }, at) {
  const found = new Map(), { numbers, nodes } = model;
  for (const event of parts) {
    if (event.clock > at) break;
    if (event.kind === "link") found.set(numbers.get(event.reporter.split(":")[0]), event.up ? "path" : "cut");
    else if (event.kind === "tables") found.set(numbers.get(event.switch), "path");
    else if (event.kind === "learned" && event.who === "all agents") {
      nodes.forEach(({ kind }, node) => { if (kind === "server") found.set(node, "path"); });
    } else if (event.kind === "learned" && numbers.has(event.who)) found.set(numbers.get(event.who), "path");
  }
  found.delete(undefined);
  return found;
}

// What has happened, in a few words.
export function happened(event, model) {
  switch (event.kind) {
    case "command": return `${DONE[event.op] ?? event.op} ${event.arguments?.names?.join("–") ?? ""}`;
    case "link": return `${event.reporter.split(":")[0]} notices${event.up ? " that the link is back" : ""}`;
    case "tables": return `${event.switch} has changed its table`;
    case "learned": return event.who === "all agents" ? "all servers know" : `${event.who} knows`;
    case "converged": return event.error ? event.text : `converged, ${model.down.size ? `${model.down.size === 1 ? "1 link" : `${model.down.size} links`} down` : "all links up"}`;
    default: return event.text;
  }
}

const DONE = { fail: "Cut", restore: "Restored" };
