// Figures as people read them. What is unknown is the word "unknown", never a number.

import { h } from "./dom";
import type { Maybe } from "./fleet";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** "512 MiB", "7.2 GiB", "80 GiB": three digits at most, so that small differences do not flicker. */
export function bytes(value: number): string {
  if (value > 0 && value < MIB / 2) return "< 1 MiB";
  if (value < GIB) return `${Math.round(value / MIB)} MiB`;
  const gib = value / GIB;
  return `${gib < 100 ? trimmed(gib.toFixed(1)) : Math.round(gib)} GiB`;
}

const trimmed = (digits: string): string => digits.replace(/\.0$/, "");

/** 0.314 is "31 %", 0.004 is "0.4 %". */
export function percent(share: number): string {
  const value = share * 100;
  return value > 0 && value < 0.05
    ? "< 0.1 %"
    : `${value < 10 ? trimmed(value.toFixed(1)) : Math.round(value)} %`;
}

/** "45 s", "12 min", "3 h 5 min", "2 d 4 h" */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 120) return `${min} min`;
  const hours = Math.floor(min / 60);
  if (hours < 48) return `${hours} h ${min % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const clock = (ms: number): string => new Date(ms).toLocaleTimeString([], { hour12: false });

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** A figure with its exact value beside it, for tests and for who hovers over it. */
export function figure(
  field: string,
  value: Maybe,
  how: (value: number) => string = (n) => n.toLocaleString("en"),
): HTMLElement {
  if (value === undefined) {
    return h("span", { class: "unknown", "data-field": field, "data-value": "unknown" }, "unknown");
  }
  const shown = how(value);
  const exact = String(value);
  return h(
    "span",
    {
      class: "figure",
      "data-field": field,
      "data-value": exact,
      title: shown === exact ? undefined : exact,
    },
    shown,
  );
}
