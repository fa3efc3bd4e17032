// Elements, texts and numbers.

const MIN_RATE = 1e4, MAX_RATE = 1e10; // bits per second: the ends of the colour scale

export const byId = (id) => document.getElementById(id);

export function element(parent, name, attributes = {}, text = "", namespace = parent.namespaceURI) {
  const made = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== "") made.textContent = text;
  parent.append(made);
  return made;
}

export function button(parent, text, action, attributes = {}) {
  const made = element(parent, "button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

export function bits(rate) {
  if (rate < 1) return "0";
  const rounded = Number(rate.toPrecision(3)); // 999.9 kb/s is 1.00 Mb/s
  const unit = [1e3, 1e6, 1e9, 1e12].filter((least) => rounded >= least).length;
  return `${(rounded / 1000 ** unit).toPrecision(3)} ${["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"][unit]}`;
}

// Where a rate lies on the colour scale, from 0 to 1; null below it.
export function share(rate) {
  return rate < MIN_RATE ? null : Math.min(1, Math.log(rate / MIN_RATE) / Math.log(MAX_RATE / MIN_RATE));
}

export const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

// Shorten long runs of one character in labels and patterns.
export const brief = (text) => text.replace(/([0.])\1{6,}/g, "$1…");

export const clockTime = (seconds) => new Date(seconds * 1000).toTimeString().slice(0, 8);

// Let the browser keep a file with this content.
export function keep(blob, name) {
  const link = element(document.body, "a", { href: URL.createObjectURL(blob), download: name, hidden: "" });
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
