// A terminal in a node, by xterm.js where it is installed (`make assets`).

import { button, element } from "./dom.js";
import { ask, post, stream } from "./source.js";

const VENDOR = "./vendor/";

export class TerminalWindow {
  constructor(box, lab) {
    Object.assign(this, { box, lab });
    this.closing = () => {};
  }

  async open(node) {
    this.close();
    this.box.hidden = false;
    this.box.replaceChildren();
    const bar = element(this.box, "p"), place = element(this.box, "div", { class: "screen" });
    element(bar, "strong", {}, `Terminal in ${node}`);
    button(bar, "Close", () => this.close(), { id: "close-terminal" });
    const found = await xterm().catch(() => null);
    if (!found) {
      this.offerCommand(node);
      return;
    }
    const problem = (error) => element(this.box, "p", { class: "problem", role: "alert" }, error.message);
    await this.run(found, node, place).catch(problem);
  }

  // Without xterm.js: the command that opens a terminal elsewhere.
  offerCommand(node) {
    const line = `dcnlab exec ${this.lab} ${node} bash`;
    const row = element(this.box, "p", { class: "command", role: "alert" });
    row.append("This dcnlab has no xterm.js (`make assets` installs it). In a terminal: ");
    const code = element(row, "code", {}, line);
    const made = button(row, "Copy", async () => {
      try {
        await navigator.clipboard.writeText(line);
        made.textContent = "Copied";
      } catch { // the browser does not let pages write there: the line is selected, to be copied by hand
        getSelection().selectAllChildren(code);
      }
    }, { id: "copy-command" });
    code.after(made);
  }

  async run({ Terminal, FitAddon }, node, place) {
    const screen = new Terminal({ fontSize: 13, screenReaderMode: true }), fit = new FitAddon();
    const styles = adoptStyles(place);
    screen.loadAddon(fit);
    screen.open(place);
    this.screen = screen;
    const { terminal } = await ask(`nodes/${node}/terminal`, "POST"), path = `terminals/${terminal}`;
    const size = () => { fit.fit(); post(`${path}/size`, JSON.stringify({ rows: screen.rows, columns: screen.cols })); };
    const output = stream(path), watcher = new ResizeObserver(size);
    let typing = Promise.resolve(); // one request after the other: keys stay in order
    screen.onData((text) => { typing = typing.then(() => post(`${path}/input`, text)).catch(() => {}); });
    output.addEventListener("message", ({ data }) =>
      screen.write(Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))));
    for (const end of ["end", "error"]) output.addEventListener(end, () => this.close());
    this.closing = () => {
      output.close();
      watcher.disconnect();
      styles.disconnect();
      screen.dispose();
    };
    watcher.observe(place);
    screen.focus();
  }

  close() {
    const close = this.closing;
    this.closing = () => {};
    this.screen = null;
    this.box.hidden = true;
    close();
  }
}

async function xterm() {
  if (!document.getElementById("xterm-style")) {
    const link = { id: "xterm-style", rel: "stylesheet", href: `${VENDOR}xterm.css` };
    element(document.head, "link", link);
  }
  const [{ Terminal }, { FitAddon }] = await Promise.all([
    import(new URL(`${VENDOR}xterm.mjs`, document.baseURI)), import(new URL(`${VENDOR}addon-fit.mjs`, document.baseURI)),
  ]);
  return { Terminal, FitAddon };
}

// xterm.js writes style elements, which the page's policy forbids: their rules become style sheets of the script.
function adoptStyles(place) {
  const sheets = new Map();
  const adopt = () => {
    for (const style of place.querySelectorAll("style")) {
      if (sheets.get(style)?.text === style.textContent) continue;
      const sheet = sheets.get(style)?.sheet ?? new CSSStyleSheet();
      if (!sheets.has(style)) document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
      sheet.replaceSync(style.textContent);
      sheets.set(style, { sheet, text: style.textContent });
    }
  };
  const watcher = new MutationObserver(adopt);
  watcher.observe(place, { childList: true, subtree: true, characterData: true });
  return watcher;
}
