// The picture as an SVG file, as it is on the screen, whole.

import { DASHES, LINES } from "./colouring.js";
import { lookOf, scales, widthOf } from "./looks.js";

export function svgOf({ model, geometry, camera, colour, marks }) {
  const { left, top, right, bottom } = camera.bounds, r = geometry.radius, { down } = model;
  const line = (number, look) => `<path d="${curve(geometry, number)}" ${look}/>`;
  const { known: steps, plain } = scales(colour, mixed);
  const halos = [...model.impaired.keys()].filter((number) => !down.has(number))
    .map((number) => line(number, `stroke="${colour("halo")}" stroke-width="11" opacity=".55"`));
  const links = model.links.map((_, number) => {
    if (down.has(number)) return line(number, `stroke="${colour("cut")}" stroke-width="2.2" stroke-dasharray="6 6"`);
    const look = lookOf(model, number);
    return look ? line(number, `stroke="${(look.known ? steps : plain)[look.step]}" stroke-width="${widthOf(look, 1.4, 6.5).toFixed(1)}"`)
      : line(number, `stroke="${colour("link")}" stroke-width="1.2"`);
  });
  const tree = marks.tree.map((number) => line(number, `stroke="${colour("ink")}" stroke-width="2.5" opacity=".7"`));
  const full = [...marks.links].map(([number, part]) =>
    line(number, `stroke="${mixed(colour("cold"), colour("hot"), part)}" stroke-width="${(1.5 + 6 * part).toFixed(1)}"`));
  const parallel = marks.paths.flatMap((found, index) => found.map((number) => {
    const dash = DASHES[index % DASHES.length];
    return line(number, `stroke="${LINES[index % LINES.length]}" stroke-width="4"${dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : ""}`);
  }));
  const path = marks.path.map((number) => line(number, `stroke="${colour("path")}" stroke-width="7" opacity=".6"`));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${[left, top, right - left, bottom - top].join(" ")}">`,
    `<title>${escaped(`${model.topology} with ${model.scheme}`)}</title>`,
    `<rect x="${left}" y="${top}" width="100%" height="100%" fill="${colour("paper")}"/>`,
    '<g fill="none" stroke-linecap="round">',
    ...(model.coast ?? []).map((points) => `<path d="M${points.map((point) => point.join(" ")).join("L")}" stroke="${colour("coast")}" vector-effect="non-scaling-stroke"/>`),
    ...[...halos, ...links, ...full, ...tree, ...parallel, ...path].map((text) => text.replace("/>", ' vector-effect="non-scaling-stroke"/>')), "</g>",
    ...[...down].map((number) => crossOf(geometry.along(number, 0.5), 0.4 * r, colour("cut"))),
    ...[...down].map((number) => wordOf(geometry.along(number, 0.5), "cut", r, colour("cut"))),
    ...[...model.impaired].filter(([number]) => !down.has(number))
      .map(([number, words]) => wordOf(geometry.along(number, 0.5), words, r, colour("ink"))),
    ...model.nodes.map((node, number) => nodeOf(node, r, colour, opaque(marks.colours?.get(number)))),
    ...marks.arrows.map((arrow) => arrowOf(arrow, geometry, colour("path"))), "</svg>", "",
  ].join("\n");
}

function crossOf({ x, y }, size, stroke) {
  const lines = [1, -1].map((side) => `M${x - size} ${y - side * size}L${x + size} ${y + side * size}`).join("");
  return `<path d="${lines}" stroke="${stroke}" stroke-width="2.8" vector-effect="non-scaling-stroke"/>`;
}

function wordOf({ x, y }, text, r, fill) {
  return `<text x="${x}" y="${y + 0.8 * r}" font-size="${0.6 * r}" fill="${fill}" text-anchor="middle" font-family="sans-serif">${escaped(text)}</text>`;
}

// A next hop: a triangle on its link, as large as its share.
function arrowOf({ link, from, weight }, geometry, fill) {
  const { tip, turn } = geometry.arrow(link, from);
  const size = 0.7 * geometry.radius * (0.5 + 0.5 * weight);
  const corners = [0, 2.6, -2.6].map((side) => side
    ? `${tip.x + size * Math.cos(turn + side)} ${tip.y + size * Math.sin(turn + side)}` : `${tip.x} ${tip.y}`);
  return `<path d="M${corners.join("L")}Z" fill="${fill}"/>`;
}

function curve(geometry, number) {
  const { a, b } = geometry.links[number], { x, y } = geometry.controls[number], stub = geometry.stubs[number];
  if (stub) {
    const [from, to] = [geometry.nodes[a], geometry.nodes[b]];
    return `M${from.x} ${from.y}L${stub[0].x} ${stub[0].y}M${to.x} ${to.y}L${stub[1].x} ${stub[1].y}`;
  }
  return `M${geometry.nodes[a].x} ${geometry.nodes[a].y}Q${x} ${y} ${geometry.nodes[b].x} ${geometry.nodes[b].y}`;
}

function nodeOf({ name, kind, label, title, x, y }, r, colour, face) {
  const look = `fill="${face ?? colour(`${kind}-face`)}" stroke="${colour(kind)}" stroke-width="${r / 8}"`;
  const shape = kind === "server" ? `<circle cx="${x}" cy="${y}" r="${r}" ${look}/>`
    : `<rect x="${x - r}" y="${y - r}" width="${2 * r}" height="${2 * r}" rx="${r / 3}" ${look}/>`;
  const isBeside = title || name.length > 5, size = (isBeside || name.length > 3 ? 0.68 : 0.85) * r;
  const text = `<text x="${x}" y="${isBeside ? y + r + 0.6 * size : y}" font-size="${size}" fill="${colour("ink")}"`
    + ` text-anchor="middle" dominant-baseline="central" font-family="sans-serif">${escaped(title ?? name)}</text>`;
  return `<g><title>${escaped(`${name} ${label}`)}</title>${shape}${text}</g>`;
}

// Any colour of CSS as #rrggbb: programs that read SVG know no others.
function opaque(colour) {
  if (!colour) return undefined;
  if (!known.has(colour)) {
    const context = document.createElement("canvas").getContext("2d");
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    known.set(colour, `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}`);
  }
  return known.get(colour);
}

const known = new Map();

// Two colours #rrggbb mixed: programs that read SVG know no color-mix.
function mixed(from, to, part) {
  const at = (text, index) => parseInt(text.slice(1 + 2 * index, 3 + 2 * index), 16);
  return `#${[0, 1, 2].map((index) => Math.round(at(from, index) + part * (at(to, index) - at(from, index)))
    .toString(16).padStart(2, "0")).join("")}`;
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
