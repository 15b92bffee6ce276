// Names of facts, each with what it is.

import { type Child, h } from "./dom";

export const facts = (...rows: [string, ...Child[]][]): HTMLElement =>
  h(
    "dl",
    { class: "facts" },
    rows.map(([name, ...what]) => h("div", {}, h("dt", {}, name), h("dd", {}, what))),
  );
