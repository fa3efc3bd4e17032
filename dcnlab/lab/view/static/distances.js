// Distances in links, and colours of nodes by them or by their labels.

export function distances(model, from, down = new Set()) {
  const found = model.nodes.map(() => Infinity), queue = [from];
  found[from] = 0;
  for (const node of queue) {
    for (const { index, peer } of model.ports[node]) {
      if (down.has(index) || found[peer] < Infinity) continue;
      found[peer] = found[node] + 1;
      queue.push(peer);
    }
  }
  return found;
}

// Colours that people who are colour-blind can tell apart (Okabe and Ito); then again from the first.
const KINDS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#8c8c8c"];
const NEAR = "#fde725", FAR = "#2a788e";

// Pairs of a node and its colour: by "distance" to a node, by their "part" of the structure, or by the first character in which "label"s differ.
export function colours(model, by, to, paper) {
  const soft = (colour) => `color-mix(in oklab, ${colour} 60%, ${paper})`;
  if (by === "distance") {
    const found = distances(model, to, model.down), most = Math.max(1, ...found.filter((one) => one < Infinity));
    return found.map((one, node) => [node, soft(one === Infinity ? KINDS[7]
      : `color-mix(in oklab, ${FAR} ${Math.round(100 * one / most)}%, ${NEAR})`)]);
  }
  if (by === "part") {
    return model.nodes.flatMap(({ part }, node) => part >= 0 ? [[node, soft(KINDS[part % KINDS.length])]] : []);
  }
  const groups = new Map();
  return model.nodes.flatMap(({ label, kind }, node) => {
    if (kind !== "server") return [];
    const first = label.replace(/^\W+/, "").match(/^\d+(?=\W)|^./)?.[0] ?? "";
    if (!groups.has(first)) groups.set(first, KINDS[groups.size % KINDS.length]);
    return [[node, soft(groups.get(first))]];
  });
}
