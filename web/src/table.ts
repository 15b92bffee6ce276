// Tables that become a list of labelled lines on a narrow screen (style.css, .stack). The roles keep them tables for
// screen readers even then.

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
    { class: "stack", role: "table" },
    h("caption", {}, caption),
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        columns.map((column) =>
          h("th", { scope: "col", role: "columnheader", class: kind(column) }, column.head),
        ),
      ),
    ),
    h(
      "tbody",
      { role: "rowgroup" },
      rows.map((row) =>
        h(
          "tr",
          { role: "row", ...attributes(row) },
          columns.map((column) =>
            h("td", { role: "cell", class: kind(column), "data-head": column.head }, column.cell(row)),
          ),
        ),
      ),
    ),
  );
}
