// The search: nodes, two servers, a link `h0-s0`, a label or an address; what would fit is proposed while one types.

import { element } from "./dom.js";

const MOST = 8;

export class Search {
  // `find({nodes, link, from})` shows what was found; `said(text)` says why nothing was.
  constructor(form, input, list, model, { find, said }) {
    Object.assign(this, { form, input, list, model, show: find, said, at: -1 });
    input.addEventListener("input", () => this.propose());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => this.close());
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // the input keeps the focus
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  submit() {
    const found = this.run(this.input.value);
    this.input.setAttribute("aria-invalid", !found);
    this.said(found ? "" : `there is no ${this.input.value} here`);
    this.close();
    return found;
  }

  // Whether what a text names was found, and is shown.
  run(text) {
    const words = text.trim().split(/[\s,]+/).filter(Boolean).map((word) => this.node(word));
    if (words.length === 1 && words[0] === null && text.includes("-")) {
      const [a, b] = this.ends(text.trim()), link = a !== null && b !== null ? this.model.between(a, b) : null;
      if (link !== null) return this.show({ nodes: [], link, from: a });
    }
    if (!words.length || words.includes(null)) return false;
    return this.show({ nodes: words.slice(0, 2), link: null, from: words[0] });
  }

  // The ends of a link, by names that may have hyphens.
  ends(text) {
    for (let at = text.indexOf("-"); at >= 0; at = text.indexOf("-", at + 1)) {
      const ends = [text.slice(0, at), text.slice(at + 1)].map((word) => this.node(word));
      if (!ends.includes(null)) return ends;
    }
    return [null, null];
  }

  node(word) {
    const label = this.model.nodes.findIndex((node) => node.label === word || node.ipv4 === word);
    return this.model.numbers.get(word) ?? (label < 0 ? null : label);
  }

  // --- proposals ------------------------------------------------------------------

  // [[what the input becomes, what is written beside it]] for a text: nodes first by their name; after `h0-` its links.
  proposals(text) {
    const word = /[^\s,]*$/.exec(text)[0], before = text.slice(0, text.length - word.length);
    if (!word) return [];
    const { nodes } = this.model, small = word.toLowerCase(), found = [];
    const [, first, rest] = /^(.+)-([^-]*)$/.exec(word) ?? [], from = first === undefined ? null : this.node(first);
    if (from !== null) {
      for (const { peer } of this.model.ports[from]) {
        const { name, kind } = nodes[peer];
        if (name.toLowerCase().startsWith(rest.toLowerCase())) found.push([`${first}-${name}`, `link to a ${kind}`]);
      }
    }
    for (const fits of [(node) => node.name.toLowerCase().startsWith(small), (node) => node.name.toLowerCase().includes(small),
      ({ label, ipv4 }) => label?.toLowerCase().startsWith(small) || ipv4?.startsWith(small)]) {
      for (const node of nodes) {
        if (found.length >= MOST) break;
        const line = [before + node.name, [node.kind, node.label, node.ipv4].filter(Boolean).join(" · ")];
        if (fits(node) && !found.some(([text]) => text === line[0])) found.push(line);
      }
    }
    return found.slice(0, MOST);
  }

  propose() {
    const found = this.proposals(this.input.value);
    this.at = -1;
    this.list.replaceChildren();
    found.forEach(([text, beside], index) => {
      const item = element(this.list, "li", { role: "option", id: `proposal-${index}` });
      element(item, "b", {}, text);
      element(item, "span", {}, beside);
      item.addEventListener("click", () => this.take(text));
    });
    this.open(found.length > 0 && !(found.length === 1 && found[0][0] === this.input.value));
  }

  take(text) {
    this.input.value = text;
    this.submit();
  }

  key(event) {
    const items = [...this.list.children], step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && !this.list.hidden) this.close();
    else if (event.key === "Enter" && this.at >= 0) this.take(items[this.at].querySelector("b").textContent);
    else if (step && !this.list.hidden) this.mark((this.at + step + items.length + (this.at < 0 && step < 0 ? 1 : 0)) % items.length);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  mark(index) {
    this.at = index;
    [...this.list.children].forEach((item, number) => item.setAttribute("aria-selected", number === index));
    this.input.setAttribute("aria-activedescendant", `proposal-${index}`);
  }

  open(isOpen) {
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", isOpen);
    if (!isOpen) this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.at = -1;
    this.open(false);
  }
}
