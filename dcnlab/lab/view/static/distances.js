// Distances in links.

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
