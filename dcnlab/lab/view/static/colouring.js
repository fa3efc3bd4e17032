// Colours of nodes: by distance, part, label, table size, cluster, word metric, or when they got an address.

import { distances } from "./distances.js";

// Colours that people who are colour-blind can tell apart (Okabe and Ito); then again from the first.
export const KINDS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#8c8c8c"];
// Of these, those that are seen as lines on light and on dark paper.
export const LINES = ["#009e73", "#d55e00", "#0072b2", "#cc79a7", "#56b4e9", "#e69f00"];
export const DASHES = [[], [9, 9], [3, 8], [14, 7, 3, 10]];
const NEAR = "#fde725", FAR = "#2a788e", NONE = "#8c8c8c";
const MOST_GROUPS = 8, STEPS = 24;

// The ways to colour: what they need, and their words.  `scheme` is what `GET scheme` returns.
export const COLOURINGS = [
  { key: "part", title: (model) => `by ${model.part_name}`, fits: (model) => Boolean(model.part_name) },
  { key: "distance", title: () => "by distance" },
  { key: "label", title: () => "by label prefix", scheme: true },
  { key: "entries", title: () => "by table size", scheme: true, entries: true },
  { key: "buffers", title: () => "by buffers and credits", fits: (model) => Boolean(model.states.at(-1)?.buffers) },
  { key: "cluster", title: (model) => `by cluster of ${model.scheme.split(":")[0]}`, scheme: true, fits: (_, scheme) => Boolean(scheme?.clusters ?? scheme?.landmarks) },
  { key: "word", title: () => "by word metric (tree)", scheme: true, fits: (_, scheme) => Boolean(scheme?.tree) },
];

// {faces: Map of nodes to colours, title, legend: [[colour, words]], low, high}: a legend, or a scale from low to high.
export function colouring(model, by, { to, scheme, entries, paper, face, times }) {
  const soft = (colour) => `color-mix(in oklab, ${colour} ${face}, ${paper})`;
  const painter = { soft, model, to, scheme };
  switch (by) {
    case "times": return scaled(painter, times, "milliseconds until a server was configured");
    case "distance": return scaled(painter, distances(model, to, model.down), `links from ${model.name(to)}`);
    case "word": return scaled(painter, wordDistances(scheme.tree.words, to), `word metric from ${model.name(to)}`);
    case "entries": return scaled(painter, entries, "entries in the table");
    case "buffers": return { ...scaled(painter, waiting(model), "packets in buffers; links: credits used"), links: fullLinks(model) };
    case "part": return grouped(painter, model.nodes.map(({ part }) => part >= 0 ? part : null), model.part_name, model.part_words);
    case "cluster": return scheme.clusters
      ? grouped(painter, scheme.clusters.map((one) => one >= 0 ? one : null), "cluster")
      : grouped(painter, model.nodes.map((_, node) => scheme.landmarks.includes(node) ? "landmark" : "other"), "landmarks");
    case "label": return grouped(painter, prefixes(scheme?.labels ?? model.nodes.map(({ label }) => label)), "label prefix");
    default: return null;
  }
}

function waiting(model) {
  return model.nodes.map(({ name }) => model.state?.buffers?.[name]?.[0] ?? null);
}

// The links with credits in use, and of these the share of the fullest channel.
function fullLinks(model) {
  return new Map(model.links.map((_, link) => [link, model.fullness(link)]).filter(([, share]) => share > 0));
}

// How many links of the tree are between a node and all others.
function wordDistances(words, from) {
  return words.map((word) => {
    let common = 0;
    while (common < word.length && word[common] === words[from][common]) common += 1;
    return word.length + words[from].length - 2 * common;
  });
}

// As many first characters, after those that all labels share, as make few groups.
function prefixes(labels) {
  const given = labels.filter(Boolean);
  if (!given.length) return labels.map(() => null);
  let common = 0;
  while (given.every((label) => common < label.length && label[common] === given[0][common])) common += 1;
  let length = common + 1;
  while (length < given[0].length && new Set(given.map((label) => label.slice(0, length + 1))).size <= MOST_GROUPS) length += 1;
  return labels.map((label) => label ? label.slice(0, length) : null);
}

// `words` of each key say what its nodes have in common; else the title says it for all.
function grouped({ soft }, keys, title, words = null) {
  const known = [...new Set(keys.filter((key) => key !== null))].sort((a, b) => a < b ? -1 : 1);
  const colour = new Map(known.map((key, index) => [key, soft(KINDS[index % KINDS.length])]));
  const faces = new Map(keys.flatMap((key, node) => key === null ? [] : [[node, colour.get(key)]]));
  if (known.length > MOST_GROUPS) return { faces, title: `${title}: ${known.length} groups, colours repeat`, legend: [] };
  return { faces, title: words ? "" : title, legend: known.map((key) => [colour.get(key), words?.[key] ?? String(key)]) };
}

function scaled({ soft }, values, title) {
  const finite = values.filter((value) => Number.isFinite(value));
  const low = Math.min(...finite), high = Math.max(...finite), span = Math.max(1e-9, high - low);
  const at = (value) => {
    const step = Math.round(STEPS * (value - low) / span); // few colours: nodes of one colour are painted at once
    return soft(`color-mix(in oklab, ${FAR} ${Math.round(100 * step / STEPS)}%, ${NEAR})`);
  };
  const faces = new Map(values.flatMap((value, node) => value === null ? []
    : [[node, Number.isFinite(value) ? at(value) : soft(NONE)]]));
  return { faces, title, legend: [], low: [at(low), brief(low)], high: [at(high), brief(high)] };
}

const brief = (value) => Number.isInteger(value) ? String(value) : value.toFixed(1);
