// Where the page gets what it shows: the interface of a running lab, or a recording.

const API = "api/";

export async function ask(path, method = "GET", body = undefined) {
  const answer = await fetch(API + path, { method, body: body && JSON.stringify(body) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

// A body as it is; the answer is not needed.
export async function post(path, body) {
  const answer = await fetch(API + path, { method: "POST", body });
  if (!answer.ok) throw new Error((await answer.json()).error);
}

// A file that the lab makes.
export async function file(path) {
  const answer = await fetch(API + path);
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer.blob();
}

export const stream = (path) => new EventSource(API + path);

// The network, and with it the messages of a recording: inside the page (`dcnlab replay --html`), or beside it.
export async function begin() {
  const inside = document.getElementById("recording");
  if (inside) return JSON.parse(inside.textContent);
  const drawing = await ask("drawing");
  return { drawing, messages: drawing.recorded ? await ask("recording") : null };
}

// State and events of the lab, as one stream; the events that there are, first.
export function follow({ event, state, ended }) {
  const query = new URLSearchParams({ follow: true, state: true });
  const stream = new EventSource(`${API}events?${query}`);
  let over = false;
  stream.addEventListener("message", (message) => event(JSON.parse(message.data)));
  stream.addEventListener("state", (message) => {
    ended(false);
    state(JSON.parse(message.data));
  });
  stream.addEventListener("end", () => {
    over = true;
    ended(true);
  });
  stream.addEventListener("error", () => { // the browser tries again, except after an answer that is no stream
    ended(true);
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => follow({ event, state, ended }), 5000);
  });
  return () => over;
}
