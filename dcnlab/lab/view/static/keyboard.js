// The keyboard on the picture: everything that a pointer does.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const PAN = 60; // pixels

export class Keyboard {
  // `actions`: choose(mark), clear(), cut(mark), search(), said(text), help(), undo()
  constructor(picture, actions) {
    Object.assign(this, { picture, actions });
    const { canvas } = picture;
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => this.focus(null));
    document.addEventListener("keydown", (event) => this.anywhere(event));
  }

  get mark() { return this.picture.marks.focus; }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) this.pan(arrow);
    else if (arrow) this.step(arrow);
    else if (event.key === "l" || event.key === "L") this.nextLink(event.key === "l" ? 1 : -1);
    else if (event.key === "Enter" || event.key === " ") { if (this.mark) this.actions.choose(this.mark); }
    else if (event.key === "c") this.actions.cut(this.mark);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else return;
    event.preventDefault();
  }

  anywhere(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const writing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.target instanceof HTMLTextAreaElement;
    if (event.key === "Escape") {
      if (writing) event.target.blur();
      this.focus(null);
      this.actions.clear();
    } else if (writing) return;
    else if (event.key === "/") this.actions.search();
    else if (event.key === "0" || event.key === "f") this.actions.fit();
    else if (event.key === "?") this.actions.help();
    else if (event.key === "u") this.actions.undo();
    else if (event.key === "p") this.actions.play();
    else if (event.key === "," || event.key === ".") this.actions.stepTime(event.key === "." ? 1 : -1);
    else return;
    event.preventDefault();
  }

  pan([dx, dy]) {
    this.picture.camera.move(-PAN * dx, -PAN * dy);
    this.picture.request();
  }

  zoom(factor) {
    const { camera } = this.picture, at = this.mark && camera.screen(this.placeOf(this.mark));
    camera.zoom(factor, at ?? undefined);
    this.picture.request();
  }

  step([dx, dy]) {
    const from = this.nodeOfMark();
    this.focus({ node: from === null ? 0 : this.picture.geometry.neighbour(from, dx, dy) });
  }

  nodeOfMark() {
    const { mark } = this;
    if (!mark) return null;
    return mark.link === undefined ? mark.node : mark.from ?? this.picture.model.links[mark.link].a;
  }

  // The links of the node with the focus, one after the other; Enter chooses the link.
  nextLink(step) {
    const from = this.nodeOfMark() ?? 0, ports = this.picture.model.ports[from];
    if (!ports.length) return;
    const here = ports.findIndex(({ index }) => index === this.mark?.link);
    const next = here < 0 ? (step > 0 ? 0 : ports.length - 1) : (here + step + ports.length) % ports.length;
    this.focus({ link: ports[next].index, from });
  }

  placeOf(mark) {
    const { geometry } = this.picture;
    return mark.link === undefined ? geometry.nodes[mark.node] : geometry.along(mark.link, 0.5);
  }

  focus(mark) {
    this.picture.marks.focus = mark;
    if (mark) {
      this.picture.camera.reveal(this.placeOf(mark));
      this.actions.said(this.picture.title(mark));
    }
    this.picture.request();
  }
}
