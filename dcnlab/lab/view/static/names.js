// What is written beside nodes: names that do not fit into them, and how many hosts a switch has.

export const LEAST = 1.6;  // pixels: the radius of nodes where there is no room for them
const MOST_BESIDE = 3000;  // nodes: of more, none is named beside
const LEAST_BADGE = 6;     // pixels: the radius of switches that have badges
export const FONT = 'system-ui, "DejaVu Sans", sans-serif';

// Names that do not fit into their nodes, beside them, where no other name is yet: switches first.
export function paintNamesBeside(context, picture) {
  const { camera, geometry, model, copied } = picture, r = Math.max(LEAST, geometry.radius * camera.scale), taken = new Map();
  if (model.nodes.length > MOST_BESIDE) return 0;
  context.save();
  context.setTransform(picture.dense, 0, 0, picture.dense, 0, 0);
  Object.assign(context, { font: `11px ${FONT}`, textAlign: "center", textBaseline: "top", lineWidth: 3, lineJoin: "round" });
  context.strokeStyle = picture.colour("paper");
  context.fillStyle = picture.colour("ink");
  let named = 0;
  for (const number of [...picture.switches, ...picture.servers]) {
    const { name: short, title, x, y } = model.nodes[number], name = title ?? short;
    if (!picture.seen[number] || (!title && picture.fits(name))) continue;
    const own = { x: (x - copied.corner.x) * camera.scale, y: (y - copied.corner.y) * camera.scale };
    const half = 3 + 3.2 * name.length, around = [[0, r + 2], [0, -r - 14], [r + half + 2, -6], [-r - half - 2, -6]];
    const at = around.map(([dx, dy]) => ({ x: own.x + dx, y: own.y + dy })).find((place) => takes(taken, place, half));
    if (!at) continue;
    context.strokeText(name, at.x, at.y);
    context.fillText(name, at.x, at.y);
    named += 1;
  }
  context.restore();
  return named;
}

// How many hosts a switch has, where they are not drawn.
export function paintBadges(context, picture) {
  const { camera, geometry, model, copied } = picture, r = geometry.radius * camera.scale;
  if (r < LEAST_BADGE) return;
  context.save();
  context.setTransform(picture.dense, 0, 0, picture.dense, 0, 0);
  Object.assign(context, { font: `9px ${FONT}`, textAlign: "center", textBaseline: "middle", lineWidth: 1 });
  for (const [number, hosts] of model.hostsOf) {
    const { x, y } = model.nodes[number], half = 3 + 2.8 * String(hosts).length, path = new Path2D();
    const at = { x: (x - copied.corner.x) * camera.scale + r, y: (y - copied.corner.y) * camera.scale - r };
    path.roundRect(at.x - half, at.y - 6, 2 * half, 12, 6);
    context.fillStyle = picture.colour("server-face");
    context.strokeStyle = picture.colour("server");
    context.fill(path);
    context.stroke(path);
    context.fillStyle = picture.colour("ink");
    context.fillText(hosts, at.x, at.y + 0.5);
  }
  context.restore();
}

// Whether a name that is so wide to both sides fits at a place, among those that are there; it is then.
function takes(taken, { x, y }, half) {
  const row = Math.round(y / 12), near = [row - 1, row, row + 1].flatMap((one) => taken.get(one) ?? []);
  if (near.some((other) => Math.abs(other.y - y) < 12 && Math.abs(other.x - x) < other.half + half)) return false;
  if (!taken.has(row)) taken.set(row, []);
  taken.get(row).push({ x, y, half });
  return true;
}
