// Tables that become a list of labelled lines on a narrow screen (style.css, .stack).

import { type Child, h } from "./dom";

export interface Column<T> {
  head: string;
  cell: (row: T) => Child;
  number?: boolean;
  wide?: boolean;
}

export function table<T>(
  caption: string,
  columns: Column<T>[],
  rows: T[],
  attributes: (row: T) => Record<string, string> = () => ({}),
): HTMLElement {
  const kind = (column: Column<T>): string | undefined =>
    [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ") || undefined;
  return h(
    "table",
    { class: "stack" },
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map((column) => h("th", { scope: "col", class: kind(column) }, column.head)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          attributes(row),
          columns.map((column) =>
            h("td", { class: kind(column), "data-head": column.head }, column.cell(row)),
          ),
        ),
      ),
    ),
  );
}
