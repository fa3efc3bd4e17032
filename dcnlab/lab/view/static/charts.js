// Small charts in the side panel, as SVG.

import { bits, element } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg", WIDTH = 300;

// The load of the last minutes: [{at, value}].
export function loadChart(parent, points, title) {
  const height = 46, most = Math.max(1e4, ...points.map(({ value }) => value));
  const figure = element(parent, "figure", { class: "chart" });
  const svg = element(figure, "svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": title }, "", SVG);
  if (points.length > 1) {
    const first = points[0].at, span = points.at(-1).at - first || 1;
    const line = points.map(({ at, value }) =>
      `${(WIDTH * (at - first) / span).toFixed(1)} ${(height - 2 - (height - 6) * value / most).toFixed(1)}`).join("L");
    element(svg, "path", { class: "area", d: `M0 ${height}L${line}L${WIDTH} ${height}Z` });
    element(svg, "path", { class: "line", d: `M${line}` });
  }
  const seconds = points.length > 1 ? Math.round(points.at(-1).at - points[0].at) : 0;
  element(figure, "figcaption", {}, `${title}: last ${seconds} s, at most ${bits(Math.max(0, ...points.map(({ value }) => value)))}`);
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
