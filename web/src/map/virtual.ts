// A list of blocks of known heights of which only those near the window are in the document.

export interface Block {
  key: string;
  height: number; // px
}

export class VirtualList<T extends Block> {
  private blocks: T[] = [];
  private tops: number[] = [];
  private shown = new Map<string, HTMLElement>();
  private stale = new Set<string>();

  constructor(
    private readonly root: HTMLElement,
    private readonly make: (block: T) => HTMLElement,
  ) {}

  set(blocks: T[]): void {
    this.blocks = blocks;
    this.tops = [];
    let top = 0;
    for (const block of blocks) {
      this.tops.push(top);
      top += block.height;
    }
    this.root.style.height = `${top}px`;
    this.stale = new Set(this.shown.keys());
    this.draw();
  }

  /** Draws what came near the window, and drops what went far from it. */
  draw(): void {
    const offset = this.root.getBoundingClientRect().top;
    const near = window.innerHeight / 2;
    const first = this.at(-offset - near);
    const last = this.at(window.innerHeight - offset + near);
    const wanted = new Map<string, HTMLElement>();
    const focus = this.focused();
    // From the last to the first, so that the document has them in their order.
    let next: HTMLElement | null = null;
    for (let index = Math.min(last, this.blocks.length - 1); index >= first; index--) {
      next = this.place(index, next, wanted);
    }
    for (const [key, element] of this.shown) if (wanted.get(key) !== element) element.remove();
    this.shown = wanted;
    this.stale.clear();
    if (focus && !document.contains(focus.element)) this.refocus(focus.key);
  }

  scrollTo(key: string): void {
    const index = this.blocks.findIndex((block) => block.key === key);
    if (index < 0) return;
    const top = this.root.getBoundingClientRect().top + window.scrollY + this.tops[index]!;
    const height = this.blocks[index]!.height;
    if (top < window.scrollY || top + height > window.scrollY + window.innerHeight) {
      window.scrollTo({ top: Math.max(0, top - window.innerHeight / 3) });
    }
    this.draw();
  }

  private place(index: number, next: HTMLElement | null, wanted: Map<string, HTMLElement>): HTMLElement {
    const block = this.blocks[index]!;
    const there = this.stale.has(block.key) ? undefined : this.shown.get(block.key);
    const element = there ?? this.make(block);
    element.style.top = `${this.tops[index]}px`;
    element.style.height = `${block.height}px`;
    if (!there) this.root.insertBefore(element, next);
    wanted.set(block.key, element);
    return element;
  }

  private focused(): { element: Element; key: string } | undefined {
    const element = document.activeElement;
    const key = element?.getAttribute("data-key");
    return element && key && this.root.contains(element) ? { element, key } : undefined;
  }

  private refocus(key: string): void {
    this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }

  // The last block that begins at or above `y`.
  private at(y: number): number {
    let low = 0;
    let high = this.tops.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(low, 0);
  }
}
