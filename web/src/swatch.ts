// A colour with its pattern and its letter.

import { h, svg } from "./dom";
import { MECHANISMS, type Mechanism } from "./fleet";
import { MECHANISM_WORDS } from "./words";

export function swatch(kind: string): SVGSVGElement {
  return svg(
    "svg",
    { class: "swatch", width: 16, height: 12, viewBox: "0 0 16 12", "aria-hidden": "true" },
    svg("rect", { class: `stripe ${kind}`, width: 16, height: 12 }),
  );
}

export function mechanism(kind: Mechanism): HTMLElement {
  const { name, letter, means } = MECHANISM_WORDS[kind];
  return h(
    "span",
    { class: "mechanism", title: means },
    swatch(kind),
    h("b", { "aria-hidden": "true" }, letter),
    ` ${name}`,
  );
}

export function legend(): HTMLElement {
  const others: [string, string][] = [
    ["host", "processes of the host"],
    ["unknown", "unknown"],
    ["reserved", "the driver's"],
    ["free-place", "free MIG place"],
  ];
  return h(
    "ul",
    { class: "legend", "aria-label": "Colours of the map" },
    MECHANISMS.map((one) => h("li", {}, mechanism(one))),
    others.map(([kind, words]) => h("li", {}, swatch(kind), ` ${words}`)),
  );
}
