// Small charts in the side panel, as SVG.

import { bits, clockTime, element } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg", WIDTH = 300, HEIGHT = 46, TOP = 12, BELOW = 12;

// The load of links: [{at, value}] in bits per second.
export function loadChart(parent, points, title, axis) {
  return lineChart(parent, points, title, { axis, words: bits, least: 1e5 });
}

// Something over time: [{at, value, lost}]; where packets were lost, there is a cross.  A value may be null, where
// nothing was answered.  All charts have one `axis`: {from, until, at, wall}, `at` the time shown, `wall` its clock.
// The scale is never finer than `least`: little noise does not look like much.
export function lineChart(parent, every, title, { axis, words, least }) {
  const points = every.filter(({ at }) => at >= axis.from && at <= axis.until);
  const known = points.filter(({ value }) => value !== null && value !== undefined);
  const largest = Math.max(0, ...known.map(({ value }) => value)), most = Math.max(least, largest);
  const figure = element(parent, "figure", { class: "chart" });
  const svg = element(figure, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + BELOW}`, role: "img", "aria-label": title }, "", SVG);
  const x = (at) => (WIDTH * (at - axis.from) / Math.max(1e-9, axis.until - axis.from)).toFixed(1);
  const y = (value) => (HEIGHT - (HEIGHT - TOP) * value / most).toFixed(1);
  element(svg, "path", { class: "grid", d: `M0 ${TOP}H${WIDTH}M0 ${HEIGHT}H${WIDTH}` });
  element(svg, "text", { class: "most", x: 0, y: TOP - 3 }, words(most));
  if (known.length > 1) {
    const line = known.map(({ at, value }) => `${x(at)} ${y(value)}`).join("L");
    element(svg, "path", { class: "area", d: `M${x(known[0].at)} ${HEIGHT}L${line}L${x(known.at(-1).at)} ${HEIGHT}Z` });
    element(svg, "path", { class: "line", d: `M${line}` });
  } else if (known.length) element(svg, "circle", { class: "dot", cx: x(known[0].at), cy: y(known[0].value), r: 3 });
  for (const { at } of points.filter(({ lost }) => lost > 0)) {
    const place = Math.min(WIDTH - 4, Math.max(4, x(at)));
    element(svg, "path", { class: "lost", d: `M${place - 3} 2l6 6M${place - 3} 8l6 -6` });
  }
  if (axis.at !== null) element(svg, "path", { class: "shown", d: `M${x(axis.at)} 0V${HEIGHT}` });
  element(svg, "text", { x: 0, y: HEIGHT + 10 }, clockTime(axis.wall(axis.from)));
  element(svg, "text", { x: WIDTH, y: HEIGHT + 10, "text-anchor": "end" }, clockTime(axis.wall(axis.until)));
  const lost = points.reduce((sum, point) => sum + (point.lost ?? 0), 0);
  element(figure, "figcaption", {}, `${title}: ${[
    known.length === 1 ? words(largest) : known.length ? `at most ${words(largest)}` : "none in this time", lost ? `${lost} lost` : "",
  ].filter(Boolean).join(", ")}`);
  return figure;
}

// A convergence: who knew what when, in milliseconds since the first change of a link.
export function convergenceChart(parent, parts, who) {
  const begin = parts[0].clock, span = Math.max(0.001, parts.at(-1).clock - begin), row = 15, left = 118;
  const height = row * parts.length + 18, x = (clock) => left + (WIDTH - left - 50) * (clock - begin) / span;
  const svg = element(parent, "svg", {
    class: "convergence", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": "who learned of the change when",
  }, "", SVG);
  parts.forEach((event, index) => {
    const y = row * (index + 0.5), ms = 1000 * (event.clock - begin);
    element(svg, "text", { x: 0, y, class: "who" }, who(event));
    element(svg, "line", { x1: left, x2: x(event.clock), y1: y, y2: y });
    element(svg, "circle", { cx: x(event.clock), cy: y, r: 4, class: event.kind });
    element(svg, "text", { x: x(event.clock) + 8, y }, `${ms.toFixed(1)} ms`);
  });
  return svg;
}
