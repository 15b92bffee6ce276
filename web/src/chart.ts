// Lines over time, by uPlot.

import uPlot from "uplot";
import { h } from "./dom";
import type { Maybe } from "./fleet";

export interface Line {
  label: string;
  colour: string; // a class of style.css
  dash?: number[];
}

const HEIGHT = 150;

export class Chart {
  readonly element: HTMLElement;
  private readonly place = h("div", { class: "chart-place" });
  private plot: uPlot | undefined;
  private data: uPlot.AlignedData = [[]];

  constructor(
    private readonly title: string,
    private readonly lines: Line[],
    private readonly how: (value: number) => string,
  ) {
    this.element = h(
      "figure",
      { class: "chart" },
      h("figcaption", {}, `${title}, while this page is open`),
      this.place,
    );
  }

  /** A value that is unknown leaves a gap. */
  show(times: number[], values: Maybe[][]): void {
    this.data = [times, ...values.map((line) => line.map((value) => value ?? null))];
    this.place.setAttribute("role", "img");
    this.place.setAttribute("aria-label", `${this.title}: ${this.summary(values)}`);
    if (this.plot) this.plot.setData(this.data);
    else this.refit();
  }

  /** Draws it anew in the width and the colours of now. */
  refit(): void {
    const width = this.place.clientWidth;
    if (width === 0 || this.data[0].length === 0) return;
    this.plot?.destroy();
    this.plot = new uPlot(this.options(width), this.data, this.place);
  }

  close(): void {
    this.plot?.destroy();
    this.plot = undefined;
  }

  private options(width: number): uPlot.Options {
    const ink = this.colour("ink");
    const grid = { stroke: this.colour("grid"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid };
    return {
      width,
      height: HEIGHT,
      cursor: { y: false },
      scales: { y: { range: (_plot, _low, high) => [0, Math.max((high ?? 0) * 1.1, 0.01)] } },
      axes: [axis, { ...axis, size: 64, values: (_plot, ticks) => ticks.map(this.how) }],
      series: [
        {},
        ...this.lines.map((line) => ({
          label: line.label,
          stroke: this.colour(line.colour),
          width: 2,
          ...(line.dash ? { dash: line.dash } : {}),
          value: (_plot: uPlot, value: number | null) => (value === null ? "unknown" : this.how(value)),
        })),
      ],
    };
  }

  private summary(values: Maybe[][]): string {
    return this.lines
      .map((line, index) => {
        const last = values[index]?.at(-1);
        return `${line.label} ${last === undefined ? "unknown" : this.how(last)}`;
      })
      .join(", ");
  }

  private colour(kind: string): string {
    const probe = h("i", { class: `probe ${kind}` });
    document.body.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }
}
