// On a phone the panel is a sheet at the bottom: low, or open to half of the screen.

const SWIPE = 24; // pixels

export class Sheet {
  constructor(box, handle) {
    Object.assign(this, { box, handle });
    let from = null;
    handle.addEventListener("click", () => this.set(!this.isOpen));
    handle.addEventListener("pointerdown", (event) => { from = event.clientY; handle.setPointerCapture(event.pointerId); });
    handle.addEventListener("pointerup", (event) => {
      const moved = from === null ? 0 : event.clientY - from;
      from = null;
      if (Math.abs(moved) < SWIPE) return; // a click
      this.set(moved < 0);
      handle.addEventListener("click", (click) => click.stopImmediatePropagation(), { once: true, capture: true });
    });
  }

  get isOpen() { return this.box.classList.contains("open"); }
  open() { this.set(true); }

  set(isOpen) {
    this.box.classList.toggle("open", isOpen);
    this.handle.setAttribute("aria-expanded", isOpen);
    this.handle.setAttribute("aria-label", isOpen ? "Lower the panel" : "Raise the panel");
  }
}
