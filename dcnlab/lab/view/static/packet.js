// A packet that was traced, played on the picture: slower than it was, hop by hop.

const PER_LINK = 450; // milliseconds

export class PacketPlayer {
  constructor(picture) {
    this.picture = picture;
    this.serial = 0;
  }

  // `hops`: the nodes in the order in which the packet was seen.
  play(hops) {
    const { model, marks } = this.picture, nodes = hops.map(({ node }) => model.numbers.get(node));
    const links = nodes.slice(1).map((to, index) => ({ link: model.between(nodes[index], to), from: nodes[index] }))
      .filter(({ link }) => link !== null);
    this.stop();
    Object.assign(marks, { path: links.map(({ link }) => link), paths: [] });
    this.picture.request();
    if (!links.length || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    marks.packet = { ...links[0], t: 0 };
    const serial = this.serial, begin = performance.now();
    const step = (now) => {
      if (serial !== this.serial) return;
      const at = Math.max(0, now - begin) / PER_LINK, index = Math.floor(at);
      marks.packet = index < links.length ? { ...links[index], t: at - index } : null;
      this.picture.request();
      if (marks.packet) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  stop() {
    this.serial += 1;
    this.picture.marks.packet = null;
  }
}
