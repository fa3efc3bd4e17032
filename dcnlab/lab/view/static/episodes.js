// What belongs to one failure or repair: from its command, or the first change of a link, to the event `converged`.

const AFTER = ["link", "learned", "tables", "ordered", "converged"];

// [{begin, end, command, parts}], the oldest first; times on the lab's clock.  One that has not converged ends with the
// last thing that is known of it.
export function episodesOf(events) {
  const found = [];
  let command = null, open = null;
  for (const event of events) {
    if (event.kind === "command") command = event;
    else if (event.kind === "command-ended" && event.command === command?.number) {
      if (open === null) command = null;
    } else if (event.kind === "link" && !open) {
      open = { begin: command?.clock ?? event.clock, end: event.clock, command, parts: [event] };
      found.push(open);
    } else if (open && AFTER.includes(event.kind)) {
      open.parts.push(event);
      open.end = event.clock;
      if (event.kind === "converged") open = command = null;
    }
  }
  return found;
}

// Where a network's traffic runs at a time: the rates of the state whose interval that is.  In an interval in which a link
// failed, the rates before it hold until the ends of the link have reacted, then those after.
export function statesAround(states, at) {
  const next = states.findIndex((state) => state.at >= at);
  if (next < 0) return { before: states.at(-1), within: states.at(-1), after: states.at(-1) };
  return { before: states[Math.max(0, next - 1)], within: states[next], after: states[Math.min(states.length - 1, next + 1)] };
}

// When the end of a link stopped sending into it: a server when it noticed, a switch when its table had changed.
export function reaction({ parts, end }, link, node) {
  const seen = parts.find((event) => event.kind === "link" && event.link_number === link && !event.up);
  if (node.kind === "server") return seen?.clock ?? end;
  return parts.find((event) => event.kind === "tables" && event.switch === node.name)?.clock ?? end;
}

// The links that an episode has cut, and until when each direction sent packets into it: [{link, direction, from, until}].
export function losing(episode, model) {
  const cut = new Set(episode.parts.filter((event) => event.kind === "link" && !event.up).map((event) => event.link_number));
  return [...cut].flatMap((link) => [0, 1].map((direction) => {
    const node = model.nodes[direction ? model.links[link].b : model.links[link].a];
    return { link, direction, from: episode.begin, until: reaction(episode, link, node) };
  }));
}

// The rates of links at a time, two a link.
export function ratesAt(model, at) {
  const { before, within, after } = statesAround(model.states, at);
  if (!within) return null;
  const episode = model.episodes().find((one) => one.end > before.at && one.begin <= within.at);
  if (!episode) return within.rates;
  const loaded = losing(episode, model).filter(({ link, direction }) => before.rates[2 * link + direction] > 1e4);
  const reacted = loaded.length ? Math.max(...loaded.map(({ until }) => until)) : episode.end;
  return at < reacted ? before.rates : after.rates;
}
