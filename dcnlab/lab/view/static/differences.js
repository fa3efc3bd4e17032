// How two labs differ: at their last failure, and by what their schemes do with the failures there are.

// Failures: the episodes in which a link went down.
export const failuresOf = (model) => model.episodes().filter(({ parts }) => parts.some((event) => event.kind === "link" && !event.up));

// [{name, values: [text, text], difference, better: 0 or 1, or null}] of two sides {model, until, figures}.
export function differences(sides) {
  const found = sides.map(({ model, until, figures }) => ({ ...lastFailure(model, until), ...figures }));
  return ROWS.filter(({ key }) => found.some((one) => one[key] !== undefined && one[key] !== null)).map(({ key, name, unit = "", more = false, digits }) => {
    const [a, b] = found.map((one) => one[key] ?? null), known = a !== null && b !== null;
    const words = (value) => value === null ? "–" : `${number(value, digits)}${unit}`;
    const better = known && a !== b ? ((a < b) !== more ? 0 : 1) : null;
    return { name, values: [words(a), words(b)], difference: known ? difference(a, b, unit, digits) : "", better };
  });
}

const ROWS = [
  { key: "detection_ms", name: "failure noticed after", unit: " ms" },
  { key: "converged_ms", name: "converged after", unit: " ms" },
  { key: "outage_ms", name: "outage of the stream", unit: " ms" },
  { key: "lost", name: "packets lost by the stream" },
  { key: "flow_mods", name: "flow mods" },
  { key: "entries_mean", name: "entries of a table, mean", digits: 4 },
  { key: "entries_max", name: "entries of a table, most" },
  { key: "path_mean", name: "mean path, links", digits: 4 },
  { key: "stretch_mean", name: "mean stretch", digits: 4 },
  { key: "delivered", name: "pairs delivered, %", more: true, digits: 4 },
];

// What the commands and streams of the last failure before a time have said.
function lastFailure(model, until) {
  const episode = failuresOf(model).findLast(({ begin }) => begin <= until);
  if (!episode) return {};
  const { command, begin, end } = episode;
  const ended = command && model.events.find((event) => event.kind === "command-ended" && event.command === command.number);
  const converged = episode.parts.findLast(({ kind }) => kind === "converged");
  const { detection_ms = null, converged_ms = converged?.ms ?? null, flow_mods = null } = ended?.result ?? {};
  const stream = model.during(begin, end).map(({ ended: { name, figures } }) => name === "stream" ? figures : null).find(Boolean);
  return { detection_ms, converged_ms, flow_mods, outage_ms: stream?.outage_ms ?? null, lost: stream?.lost ?? null };
}

const number = (value, digits = 3) => Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(digits)));

function difference(a, b, unit, digits) {
  if (a === b) return "none";
  const words = `${b > a ? "+" : "−"}${number(Math.abs(b - a), digits)}${unit}`;
  return a > 0 && b > 0 ? `${words} (× ${Number((b / a).toPrecision(3))})` : words;
}
