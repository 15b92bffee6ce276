// What one container has of one device: the facts that the views of a Pod and of a node share.

import { bar } from "../bar";
import { type Child, h } from "../dom";
import type { Container, Maybe, Node } from "../fleet";
import { bytes, figure, percent } from "../format";

/** "0.25 of the GPU", "1 GPU" */
export function part(one: Container): Child {
  if (one.mechanism === "none") return figure("gpus", 0, () => "nothing");
  const device = one.migProfile !== "" ? `MIG ${one.migProfile}` : "GPU";
  return one.gpus === 1 && one.migProfile === ""
    ? "1 GPU"
    : [
        figure("gpus", one.gpus, (n) => String(Math.round(n * 1000) / 1000)),
        ` of a GPU`,
        one.migProfile !== "" && ` (${device})`,
      ];
}

/** Of a silent node nobody says whether there is a limit. */
export const limit = (node: Node, one: Container): Child =>
  one.memoryLimit === undefined && node.reporting !== "silent"
    ? h("span", { "data-field": "memoryLimit", "data-value": "unlimited" }, "no limit")
    : figure("memoryLimit", one.memoryLimit, bytes);

export function memoryBar(one: Container, device: Maybe): Child {
  const total = one.memoryLimit ?? device;
  if (total === undefined || total === 0) return null;
  const close = one.memoryLimit !== undefined && (one.memoryUsed ?? 0) > 0.9 * one.memoryLimit;
  return [
    one.memoryUsed === undefined
      ? bar([{ size: total, kind: "unknown" }], total)
      : bar([{ size: one.memoryUsed, kind: one.mechanism }], total, one.memoryPeak),
    close && h("span", { class: "warn" }, "close to its limit"),
  ];
}

/** With a mark where it was promised less or more. */
export function shareBar(one: Container): Child {
  return one.computeShare === undefined
    ? bar([{ size: 1, kind: "unknown" }], 1)
    : bar([{ size: Math.min(one.computeShare, 1), kind: one.mechanism }], 1, one.computePromised);
}

export const share = (one: Container): Child => [
  figure("computeShare", one.computeShare, percent),
  one.estimated &&
    one.computeShare !== undefined &&
    h("abbr", { title: "Estimated from the driver's samples; the truth may be far from it." }, " estimated"),
];

/** Why its figures are not known. */
export const unattributed = (one: Container): Child =>
  !one.attributed &&
  h("p", { class: "note" }, "Its processes are not told apart from others', so what it uses is unknown.");
