// Lines over time, by uPlot.

import uPlot from "uplot";
import { h } from "./dom";
import { clock } from "./format";
import type { Maybe } from "./fleet";

export interface Line {
  label: string;
  colour: string; // a class of style.css
  dash?: number[];
}

/** How a chart's figures are told, and where the lines of its grid may stand. */
export interface Unit {
  how: (value: number) => string;
  least: number; // its axis reaches at least so far, or small figures would look large
  steps?: number[];
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
    private readonly unit: Unit,
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
    const { unit } = this;
    const at = (seconds: number): string => clock(seconds * 1000);
    return {
      width,
      height: HEIGHT,
      cursor: { y: false },
      scales: { y: { range: (_plot, _low, high) => [0, Math.max((high ?? 0) * 1.1, unit.least)] } },
      axes: [
        { ...axis, space: 90, values: (_plot, ticks) => ticks.map(at) },
        {
          ...axis,
          size: 64,
          values: (_plot, ticks) => ticks.map(unit.how),
          ...(unit.steps ? { incrs: unit.steps } : {}),
        },
      ],
      series: [
        { value: (_plot, seconds: number | null) => (seconds === null ? "–" : at(seconds)) },
        ...this.lines.map((line) => ({
          label: line.label,
          stroke: this.colour(line.colour),
          width: 2,
          ...(line.dash ? { dash: line.dash } : {}),
          // Without an index nothing is pointed at.
          value: (_plot: uPlot, value: number | null, _series: number, index: number | null) =>
            index === null ? "–" : value === null ? "unknown" : unit.how(value),
        })),
      ],
    };
  }

  private summary(values: Maybe[][]): string {
    return this.lines
      .map((line, index) => {
        const last = values[index]?.at(-1);
        return `${line.label} ${last === undefined ? "unknown" : this.unit.how(last)}`;
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
