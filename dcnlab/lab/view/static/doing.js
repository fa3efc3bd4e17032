// What the panel does in a lab: impairs a link, runs a scenario.

import { button, element } from "./dom.js";
import { ask } from "./source.js";

const FIELDS = [
  ["delay", "5ms"], ["jitter", "1ms"], ["loss", "1%"], ["rate", "50Mbit"],
];

const words = (values) => Object.entries(values).filter(([, value]) => value && value !== "none")
  .map(([name, value]) => `${name} ${value}`).join(", ");

// The impairments of a link, as they are.
export async function linkImpairments(place, a, b) {
  const { links } = await ask("impairments");
  const one = links.find(({ link }) => link.includes(a) && link.includes(b));
  place.textContent = one ? `impaired: ${words(one.impairments)}` : "not impaired";
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
      state.textContent = links.length && !values.clear ? `impaired: ${words(links[0].impairments)}` : "not impaired";
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

async function run(text, events) {
  const answer = await fetch(`api/check?events=${events}`, { method: "POST", body: text });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}
