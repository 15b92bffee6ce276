// The box beside the GPU under the pointer or with the focus. Escape closes it.

import { h } from "../dom";
import type { GpuModel } from "../model";
import { tip } from "./card";

export class Tip {
  private readonly box = h("div", { class: "tip", role: "tooltip", hidden: true });
  private key: string | null = null;
  private readonly onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape") this.hide();
  };

  constructor(
    private readonly root: HTMLElement,
    private readonly find: (key: string) => GpuModel | undefined,
  ) {
    document.body.append(this.box);
    for (const event of ["mouseover", "focusin"]) {
      root.addEventListener(event, ({ target }) => this.over(target as Element));
    }
    for (const event of ["mouseleave", "focusout"]) root.addEventListener(event, () => this.hide());
    document.addEventListener("keydown", this.onKey);
  }

  /** The cells were made anew. */
  again(): void {
    const cell = this.key && this.root.querySelector(`[data-key="${CSS.escape(this.key)}"]`);
    if (cell) this.over(cell);
    else this.hide();
  }

  close(): void {
    document.removeEventListener("keydown", this.onKey);
    this.box.remove();
  }

  private over(target: Element): void {
    const cell = target.closest(".gpu");
    const key = cell?.getAttribute("data-key");
    const gpu = key ? this.find(key) : undefined;
    if (!cell || !key || !gpu) return this.hide();
    this.key = key;
    this.box.replaceChildren(...tip(gpu));
    this.box.hidden = false;
    const at = cell.getBoundingClientRect();
    const { width, height } = this.box.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - width - 8);
    const below = at.bottom + 6;
    const top = below + height > window.innerHeight ? at.top - height - 6 : below;
    this.box.style.left = `${Math.max(8, left)}px`;
    this.box.style.top = `${Math.max(8, top)}px`;
  }

  private hide(): void {
    this.key = null;
    this.box.hidden = true;
  }
}
