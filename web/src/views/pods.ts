// Containers that have a GPU or a part of one, in an order that the reader chooses.

import { append, h, replace } from "../dom";
import type { Container, Maybe, Node } from "../fleet";
import { bytes, figure, percent, plural } from "../format";
import { type Model, podName } from "../model";
import { type Route, gpuLink, podsLink } from "../router";
import { mechanism } from "../swatch";
import { type Column, table } from "../table";
import { toolbar } from "../toolbar";
import type { View } from "../view";
import { limit, memoryBar, share } from "./containers";
import { who } from "./waiting";

interface Row {
  node: Node;
  one: Container;
}

const part = (of: Maybe, whole: Maybe): Maybe => (of === undefined || !whole ? undefined : of / whole);

// How many times its promised share would be what it got, of one that had to wait for the GPU.
function starvation(one: Container): Maybe {
  if (!one.waitedShare || one.computePromised === undefined || one.computeShare === undefined)
    return undefined;
  return one.computePromised / Math.max(one.computeShare, 0.001);
}

// The largest first; unknown last.
const ORDERS: Record<string, { words: string; by: (one: Container) => Maybe }> = {
  limit: { words: "closest to its memory limit", by: (one) => part(one.memoryUsed, one.memoryLimit) },
  memory: { words: "most memory", by: (one) => one.memoryUsed },
  time: { words: "most GPU time", by: (one) => one.computeShare },
  starved: { words: "furthest below its share", by: starvation },
  waited: { words: "longest waits for the GPU", by: (one) => one.waitedShare },
};

const COLUMNS: Column<Row>[] = [
  { head: "Pod", cell: ({ one }) => who(one) },
  { head: "Container", cell: ({ one }) => one.container || "–" },
  { head: "How", cell: ({ one }) => mechanism(one.mechanism) },
  {
    head: "GPU",
    cell: ({ node, one }) => {
      const gpu = node.gpus.find((gpu) => gpu.uuid === one.gpu);
      return h(
        "a",
        {
          href: gpuLink(node.name, one.gpu),
          "data-key": [node.name, one.ns, one.pod, one.container, one.device, one.resource].join(" "),
        },
        `${node.name} ${gpu?.index ?? "?"}`,
      );
    },
  },
  { head: "Memory", number: true, cell: ({ one }) => figure("memoryUsed", one.memoryUsed, bytes) },
  { head: "Limit", number: true, cell: ({ node, one }) => limit(node, one) },
  {
    head: "Of its limit",
    number: true,
    cell: ({ one }) =>
      one.memoryLimit === undefined ? "–" : figure("ofLimit", part(one.memoryUsed, one.memoryLimit), percent),
  },
  { head: "GPU time", number: true, cell: ({ one }) => share(one) },
  {
    head: "Promised",
    number: true,
    cell: ({ one }) => figure("computePromised", one.computePromised, percent),
  },
  { head: "Waited", number: true, cell: ({ one }) => figure("waitedShare", one.waitedShare, percent) },
  { head: "", wide: true, cell: ({ one }) => one.memoryLimit !== undefined && memoryBar(one, undefined) },
];

const MOST = 200; // rows

export class PodsView implements View {
  readonly title = "Pods";
  private readonly bar = toolbar(
    "namespace or Pod",
    "First",
    Object.entries(ORDERS).map(([value, { words }]) => [value, words]),
  );
  private readonly filter = this.bar.filter;
  private readonly sort = this.bar.sort;
  private readonly count = h("p", { class: "count", role: "status" });
  private readonly rows = h("div");
  private model: Model | undefined;

  constructor(root: HTMLElement, route: Route) {
    this.filter.value = route.query.get("q") ?? "";
    const sort = route.query.get("sort") ?? "limit";
    this.sort.value = Object.hasOwn(ORDERS, sort) ? sort : "limit";
    this.filter.addEventListener("input", () => this.changed());
    this.sort.addEventListener("change", () => this.changed());
    append(root, [
      this.bar.element,
      this.count,
      this.rows,
    ]);
  }

  show(model: Model): void {
    this.model = model;
    const words = this.filter.value.toLowerCase().split(/\s+/);
    const found = model.fleet.nodes.flatMap((node) =>
      node.containers
        .filter((one) => words.every((word) => `${one.ns}/${one.pod}`.toLowerCase().includes(word)))
        .map((one) => ({ node, one })),
    );
    const by = ORDERS[this.sort.value]!.by;
    const ranked = found
      .map((row) => ({ row, rank: by(row.one) ?? -1 }))
      .sort((a, b) => b.rank - a.rank)
      .slice(0, MOST)
      .map(({ row }) => row);
    this.count.textContent =
      found.length > MOST
        ? `The first ${MOST} of ${plural(found.length, "container")}`
        : plural(found.length, "container");
    replace(
      this.rows,
      ranked.length > 0 &&
        table("Containers with a GPU or a part of one", COLUMNS, ranked, ({ one }) => ({
          "data-row": `${podName(one)}/${one.container}`,
        })),
    );
  }

  private changed(): void {
    history.replaceState(null, "", podsLink(this.filter.value.trim(), this.sort.value));
    if (this.model) this.show(this.model);
  }
}
