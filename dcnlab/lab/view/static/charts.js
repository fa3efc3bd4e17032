// Small charts in the side panel, as SVG.

import { bits, element } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg", WIDTH = 300;

// The load of the last minutes: [{at, value}] in bits per second.
export function loadChart(parent, points, title) {
  return lineChart(parent, points, title, { words: bits, least: 1e4 });
}

// Something of the last minutes: [{at, value, lost}]; where packets were lost, there is a cross.  A value may be
// null, where nothing was answered.
export function lineChart(parent, points, title, { words, least = 0 }) {
  const height = 46, known = points.filter(({ value }) => value !== null && value !== undefined);
  const largest = Math.max(0, ...known.map(({ value }) => value)), most = Math.max(least, largest) || 1;
  const figure = element(parent, "figure", { class: "chart" });
  const svg = element(figure, "svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": title }, "", SVG);
  const first = points[0]?.at ?? 0, span = (points.at(-1)?.at ?? 0) - first;
  const x = (at) => (span ? WIDTH * (at - first) / span : WIDTH / 2).toFixed(1);
  const y = (value) => (height - 2 - (height - 8) * value / most).toFixed(1);
  if (known.length > 1) {
    const line = known.map(({ at, value }) => `${x(at)} ${y(value)}`).join("L");
    element(svg, "path", { class: "area", d: `M${x(known[0].at)} ${height}L${line}L${x(known.at(-1).at)} ${height}Z` });
    element(svg, "path", { class: "line", d: `M${line}` });
  } else if (known.length) element(svg, "circle", { class: "dot", cx: x(known[0].at), cy: y(known[0].value), r: 3 });
  for (const { at } of points.filter(({ lost }) => lost > 0)) {
    const place = Math.min(WIDTH - 4, Math.max(4, x(at)));
    element(svg, "path", { class: "lost", d: `M${place - 3} 2l6 6M${place - 3} 8l6 -6` });
  }
  const lost = points.reduce((sum, point) => sum + (point.lost ?? 0), 0), ago = Math.round(span);
  const since = `last ${ago < 120 ? `${ago} s` : `${Math.round(ago / 60)} min`}`, one = points.length === 1;
  element(figure, "figcaption", {}, `${title}: ${[
    one ? "" : since, known.length ? `${one ? "" : "at most "}${words(largest)}` : "", lost ? `${lost} lost` : "",
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
