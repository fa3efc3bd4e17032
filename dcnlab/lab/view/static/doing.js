// What the panel does in a lab: impairs a link, runs a scenario, proves what is installed.

import { button, count, element } from "./dom.js";
import { ask } from "./source.js";

const FIELDS = [
  ["delay", "5ms"], ["jitter", "1ms"], ["loss", "1%"], ["rate", "50Mbit"],
];

const words = (values) => Object.entries(values).filter(([, value]) => value && value !== "none")
  .map(([name, value]) => `${name} ${value}`).join(", ");

// A link's impairments in words: one entry, or one for each direction.
const inWords = (entries) => entries.filter(({ impairments }) => words(impairments))
  .map(({ impairments, sender }) => (sender ? `from ${sender} ` : "") + words(impairments)).join(", ");
const shown = (entries) => inWords(entries) ? `impaired: ${inWords(entries)}` : "not impaired";

// The impairments of a link, as they are.
export async function linkImpairments(place, a, b) {
  const { links } = await ask("impairments");
  place.textContent = shown(links.filter(({ link }) => link.includes(a) && link.includes(b)));
}

export function impairForm(box, name, state) {
  const form = element(box, "form", { class: "impair", "aria-label": `Impair ${name}` });
  for (const [field, example] of FIELDS) {
    const label = element(form, "label", {}, field);
    element(label, "input", { name: field, placeholder: example, autocomplete: "off", spellcheck: "false" });
  }
  const row = element(form, "p");
  element(row, "button", { type: "submit" }, "Impair");
  const send = async (values) => {
    try {
      const { links } = await ask(`links/${name}/impair`, "POST", values);
      state.textContent = shown(values.clear ? [] : links);
      state.classList.remove("problem");
    } catch (error) {
      state.textContent = error.message;
      state.classList.add("problem");
    }
  };
  button(row, "Clear", () => { form.reset(); send({ clear: true }); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim())));
  });
}

// A scenario from a file of the user's: its verdicts.
export function scenarioForm(box) {
  const form = element(box, "details", { class: "scenario" });
  element(form, "summary", {}, "Run a scenario");
  const picked = element(form, "input", { type: "file", accept: ".yaml,.yml", "aria-label": "Scenario file" });
  const label = element(form, "label"), events = element(label, "input", { type: "checkbox", checked: "" });
  label.append(" also cause its failures");
  const said = element(form, "p", { class: "quiet", role: "status" }), list = element(form, "ul");
  picked.addEventListener("change", async () => {
    if (!picked.files.length) return;
    said.textContent = "Running the scenario …";
    list.replaceChildren();
    try {
      const found = await run(await picked.files[0].text(), events.checked);
      said.textContent = found.held ? "All expectations hold." : "Not all expectations hold.";
      for (const { text, held } of found.expect) element(list, "li", { class: held ? "held" : "problem" }, text);
    } catch (error) {
      said.textContent = error.message;
    }
    picked.value = "";
  });
}

// A proof over all packets of what is installed: each violation, and its path in the picture when it is chosen.
export function verifyForm(box, showPath) {
  const form = element(box, "div", { class: "verify" }), row = element(form, "p");
  const said = element(form, "p", { class: "quiet", role: "status" }), list = element(form, "ul");
  const started = button(row, "Verify tables", async () => {
    started.disabled = true;
    said.textContent = "Reading and checking all tables …";
    list.replaceChildren();
    try {
      const { found, pairs, unanalysed, held } = await ask("measurements/verify", "POST", {});
      const rest = unanalysed ? `, ${unanalysed} not analysed` : "";
      said.textContent = held ? `Holds for all packets of ${pairs} pairs${rest}.` : `${count(found.length, "violation")}${rest}:`;
      for (const one of found) violation(list, one, showPath);
    } catch (error) {
      said.textContent = error.message;
    }
    started.disabled = false;
  });
}

function violation(list, { kind, reason, packet, path, entries, pairs, command }, showPath) {
  const item = element(list, "li", { class: "problem" });
  button(item, `${kind}: ${reason}`, () => showPath(path), { title: "Show its path" });
  element(item, "code", {}, path.join(" "));
  element(item, "code", {}, `packet: ${packet}`);
  // Those of a circle, or of one priority, decide together; else the last one.
  const first = kind === "loop" ? path.indexOf(path.at(-1)) : kind === "ambiguous" ? 0 : path.length - 1;
  const deciding = path.map((node, at) => at >= first && entries[at] ? `${node}: ${entries[at]}` : "");
  for (const text of new Set(deciding.filter(Boolean))) element(item, "code", {}, text);
  const some = pairs.slice(0, 3).map((pair) => pair.join(" → ")).join(", ");
  if (pairs.length) element(item, "code", {}, `${count(pairs.length, "pair")}: ${some}${pairs.length > 3 ? ", …" : ""}`);
  if (command) element(item, "code", {}, `see it: ${command}`);
}

async function run(text, events) {
  const answer = await fetch(`api/check?events=${events}`, { method: "POST", body: text });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}
