// A bar of parts, as a picture of figures that stand beside it as text.

import { svg } from "./dom";

export interface Part {
  size: number;
  kind: string; // a class of style.css: a mechanism, "host", "free", ...
}

/** `mark`: a line across it, such as a peak. All in the unit of `total`. */
export function bar(parts: Part[], total: number, mark?: number): SVGSVGElement {
  const root = svg("svg", {
    class: "bar",
    viewBox: "0 0 1000 14",
    preserveAspectRatio: "none",
    "aria-hidden": "true",
    focusable: "false",
  });
  root.append(svg("rect", { class: "gpu-ground", width: 1000, height: 14 }));
  let x = 0;
  for (const { size, kind } of parts) {
    const width = total > 0 ? Math.min((size / total) * 1000, 1000 - x) : 0;
    if (width <= 0) continue;
    root.append(svg("rect", { class: `part ${kind}`, x, width: Math.max(width - 2, 1), height: 14 }));
    x += width;
  }
  if (mark !== undefined && total > 0) {
    const at = Math.min(998, (mark / total) * 1000);
    root.append(svg("rect", { class: "bar-mark", x: at, width: 3, height: 14 }));
  }
  return root;
}
