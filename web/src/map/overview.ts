// All GPUs of a large cluster in one picture: a block for each node, a square for each GPU, coloured by mechanism, the
// stronger the fuller. It repeats what the cards say, so it is hidden from screen readers; a click goes to the card.

import { h } from "../dom";
import { type GpuModel, mechanismsOf } from "../model";
import type { Shown } from "./layout";

const ACROSS = 4; // GPUs side by side in a block

interface Sizes {
  cell: number;
  block: { width: number; height: number };
  across: number; // blocks
}

export class Overview {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas");
  private shown: Shown[] = [];
  private sizes: Sizes = { cell: 1, block: { width: 1, height: 1 }, across: 1 };

  constructor(private readonly go: (node: string) => void) {
    this.canvas.addEventListener("click", (event) => {
      const one = this.under(event);
      if (one) this.go(one.node.node.name);
    });
    this.canvas.addEventListener("mousemove", (event) => {
      this.canvas.title = this.under(event)?.node.node.name ?? "";
    });
    this.element = h("div", { class: "overview", "aria-hidden": "true" }, this.canvas);
  }

  show(shown: Shown[], width: number): void {
    this.shown = shown;
    this.sizes = sizesFor(shown, width);
    const lines = Math.ceil(shown.length / this.sizes.across);
    const height = lines * this.sizes.block.height;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    const colours = new Colours(this.element);
    shown.forEach((one, index) => this.drawNode(context, colours, one, index));
  }

  private drawNode(context: CanvasRenderingContext2D, colours: Colours, one: Shown, index: number): void {
    const { cell, block, across } = this.sizes;
    const left = (index % across) * block.width;
    const top = Math.floor(index / across) * block.height;
    one.gpus.forEach((gpu, at) => {
      const x = left + (at % ACROSS) * cell;
      const y = top + Math.floor(at / ACROSS) * cell;
      const part = gpu.used === undefined || !gpu.total ? undefined : gpu.used / gpu.total;
      context.globalAlpha = 1;
      context.fillStyle = colours.get("free");
      context.fillRect(x, y, cell - 1, cell - 1);
      context.fillStyle = colours.get(part === undefined ? "unknown" : kindOf(gpu));
      context.globalAlpha = part === undefined ? 1 : part === 0 ? 0 : 0.3 + 0.7 * Math.min(part, 1);
      const size = part === undefined ? (cell - 1) / 2 : cell - 1;
      context.fillRect(x, y, size, size);
    });
    context.globalAlpha = 1;
  }

  private under(event: MouseEvent): Shown | undefined {
    const { block, across } = this.sizes;
    const column = Math.floor(event.offsetX / block.width);
    if (column >= across) return undefined;
    return this.shown[Math.floor(event.offsetY / block.height) * across + column];
  }
}

function kindOf(gpu: GpuModel): string {
  return mechanismsOf(gpu)[0] ?? "host";
}

// As large as a picture of about a third of the window allows.
function sizesFor(shown: Shown[], width: number): Sizes {
  const most = shown.reduce((most, one) => Math.max(most, one.gpus.length), 1);
  const down = Math.ceil(most / ACROSS);
  const columns = Math.min(most, ACROSS);
  let sizes: Sizes | undefined;
  for (let cell = 10; cell >= 3; cell--) {
    const block = { width: columns * cell + 3, height: down * cell + 3 };
    const across = Math.max(1, Math.floor(width / block.width));
    sizes = { cell, block, across };
    if (Math.ceil(shown.length / across) * block.height <= window.innerHeight / 3) break;
  }
  return sizes!;
}

// A canvas knows no variables of CSS: a probe says what they are now.
class Colours {
  private readonly known = new Map<string, string>();

  constructor(private readonly root: HTMLElement) {}

  get(kind: string): string {
    let colour = this.known.get(kind);
    if (colour === undefined) {
      const probe = h("i", { class: `probe ${kind}` });
      this.root.append(probe);
      colour = getComputedStyle(probe).color;
      probe.remove();
      this.known.set(kind, colour);
    }
    return colour;
  }
}
