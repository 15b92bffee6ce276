// How much is free of each kind, and which namespace has what.

import { type Part, bar } from "../bar";
import { h, replace } from "../dom";
import type { Capacity, NamespaceUse } from "../fleet";
import { figure } from "../format";
import type { Model } from "../model";
import { mechanism, swatch } from "../swatch";
import { type Column, table } from "../table";
import type { View } from "../view";

// Advertised by nodes that take no new Pods, and not in use.
const closed = (one: Capacity): number =>
  Math.max(0, one.advertised - one.allocated - one.withheld - one.free);

function parts(one: Capacity): Part[] {
  return [
    { size: one.allocated, kind: one.mechanism },
    { size: one.withheld, kind: "host" },
    { size: closed(one), kind: "closed" },
    { size: one.free, kind: "free" },
  ];
}

const CAPACITY: Column<Capacity>[] = [
  { head: "Mechanism", cell: (one) => mechanism(one.mechanism) },
  { head: "Resource", cell: (one) => h("code", {}, one.resource) },
  { head: "Tier", cell: (one) => one.tier || "–" },
  { head: "Advertised", number: true, cell: (one) => figure("advertised", one.advertised) },
  { head: "Allocated", number: true, cell: (one) => figure("allocated", one.allocated) },
  { head: "Withheld", number: true, cell: (one) => figure("withheld", one.withheld) },
  { head: "Closed", number: true, cell: (one) => figure("closed", closed(one)) },
  { head: "Free", number: true, cell: (one) => h("strong", {}, figure("free", one.free)) },
  { head: "Pending", number: true, cell: (one) => figure("pending", one.pending) },
  { head: "", wide: true, cell: (one) => bar(parts(one), one.advertised) },
];

const NAMESPACES: Column<NamespaceUse>[] = [
  { head: "Namespace", cell: (one) => one.ns || "others" },
  { head: "Resource", cell: (one) => h("code", {}, one.resource) },
  { head: "Tier", cell: (one) => one.tier || "–" },
  { head: "Allocated", number: true, cell: (one) => figure("allocated", one.allocated) },
  { head: "Pending", number: true, cell: (one) => figure("pending", one.pending) },
];

const MOST = 500; // rows

const caption = (rows: number): string =>
  rows > MOST ? `By namespace: the first ${MOST} rows of ${rows.toLocaleString("en")}` : "By namespace";

export class FreeView implements View {
  readonly title = "Free";
  constructor(private readonly root: HTMLElement) {}

  show({ fleet }: Model): void {
    replace(
      this.root,
      fleet.capacity.length === 0
        ? h("p", { class: "none" }, "No node advertises a GPU or a part of one.")
        : table("What nodes offer, in tranches", CAPACITY, fleet.capacity, (one) => ({
            "data-row": `${one.mechanism} ${one.resource} ${one.tier}`,
          })),
      h(
        "ul",
        { class: "legend" },
        h("li", {}, "Bars: allocated in the mechanism's colour"),
        h("li", {}, swatch("host"), " withheld: unhealthy, or held in another way"),
        h("li", {}, swatch("closed"), " closed: on nodes that take no new Pods"),
        h("li", {}, swatch("free"), " free"),
      ),
      fleet.namespaces.length > 0 &&
        table(caption(fleet.namespaces.length), NAMESPACES, fleet.namespaces.slice(0, MOST), (one) => ({
          "data-row": `${one.ns} ${one.resource} ${one.tier}`,
        })),
    );
  }
}
