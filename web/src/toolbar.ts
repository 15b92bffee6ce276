// A filter and an order, which the reader chooses.

import { h } from "./dom";

export interface Toolbar {
  element: HTMLElement;
  filter: HTMLInputElement;
  sort: HTMLSelectElement;
}

/** `orders`: words by value. */
export function toolbar(placeholder: string, order: string, orders: [string, string][]): Toolbar {
  const filter = h("input", {
    id: "filter",
    type: "search",
    placeholder,
    autocomplete: "off",
    spellcheck: "false",
    "data-key": "filter",
  });
  const sort = h(
    "select",
    { id: "sort" },
    orders.map(([value, words]) => h("option", { value }, words)),
  );
  const element = h(
    "div",
    { class: "toolbar" },
    h("label", { for: "filter" }, "Filter"),
    filter,
    h("label", { for: "sort" }, order),
    sort,
  );
  return { element, filter, sort };
}
