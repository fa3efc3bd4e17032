// How a link looks: by how much of its rate is used, or where it has none, by how much passes.

import { share } from "./dom.js";

export const STEPS = 20; // of a scale, so that links of one look are painted at once
// Marks of the scale of utilisation, and the variables of their colours.
const MARKS = [[0, "load-0"], [0.5, "load-50"], [0.8, "load-80"], [1, "load-100"]];

// {step, known} of a link: how far along the scale, from 0 to STEPS, and whether its rate is known.  The busier direction
// counts: a link that is full in one direction is full.  null: nothing to speak of passes.
export function lookOf(model, link) {
  const rate = Math.max(model.rate(link, 0), model.rate(link, 1)), capacity = model.capacity(link);
  const part = share(rate);
  if (part === null) return null;
  return capacity ? { step: Math.round(STEPS * Math.min(1, rate / capacity)), known: true } : { step: Math.round(STEPS * part), known: false };
}

// The colours of both scales, as `mix(from, to, part)` makes them: of utilisation, and from thin to dark without a rate.
export function scales(colour, mix) {
  const known = Array.from({ length: STEPS + 1 }, (_, step) => {
    const at = step / STEPS, next = MARKS.findIndex(([mark], index) => index > 0 && at <= mark);
    const [low, from] = MARKS[next - 1], [high, to] = MARKS[next];
    return mix(colour(from), colour(to), (at - low) / (high - low));
  });
  const plain = Array.from({ length: STEPS + 1 }, (_, step) => mix(colour("link"), colour("ink"), step / STEPS));
  return { known, plain };
}

// The width of a line in pixels: full links are as wide as busy ones get.
export const widthOf = ({ step }, least, more) => least + more * step / STEPS;

// What an impairment does, beside its rate, in few words: "20 ms, 5 %"; empty where it does nothing else.
export function impairmentWords(impairments) {
  const shown = Object.entries(impairments).filter(([name]) => name !== "rate");
  return shown.map(([name, value]) => ["delay", "loss"].includes(name) ? spaced(value) : `${name} ${spaced(value)}`).join(", ");
}

const spaced = (value) => value.replace(/^([\d.]+)\s*(\D+)$/, "$1 $2");

// A rate such as 100Mbit in bits per second; null where there is none.
export function bitsOf(rate) {
  const match = /^([\d.]+)([KMG]?)bit$/i.exec(rate ?? "");
  return match ? Number(match[1]) * { "": 1, K: 1e3, M: 1e6, G: 1e9 }[match[2].toUpperCase()] : null;
}
