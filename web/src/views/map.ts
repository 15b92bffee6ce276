// Every GPU of the cluster.

import { append, h } from "../dom";
import { plural } from "../format";
import { card, gpuKey, nodeKey } from "../map/card";
import { fitting, parseFilter } from "../map/filter";
import { type Layout, type Row, type Shown, layOut } from "../map/layout";
import { ORDERS, ordered } from "../map/order";
import { Overview } from "../map/overview";
import { Tip } from "../map/tip";
import { VirtualList } from "../map/virtual";
import type { GpuModel, Model } from "../model";
import { type Route, mapLink } from "../router";
import { legend } from "../swatch";
import { toolbar } from "../toolbar";
import type { View } from "../view";

const MANY = 48; // nodes, from which on the overview helps

export class MapView implements View {
  readonly title = "GPUs";
  private readonly bar = toolbar("pod:train ns:team h100 mig is:silent", "Sort by", Object.entries(ORDERS));
  private readonly filter = this.bar.filter;
  private readonly sort = this.bar.sort;
  private readonly count = h("p", { class: "count", role: "status" });
  private readonly rows = h("div", {
    class: "map",
    "aria-label": "GPUs by node; arrow keys move between them",
    role: "group",
  });
  private readonly list = new VirtualList<Row>(this.rows, (row) => this.makeRow(row));
  private readonly overview = new Overview((node) => this.focus(`node:${node}`, node));
  private readonly tip = new Tip(this.rows, (key) => this.byKey.get(key));
  private model: Model | undefined;
  private shown: Shown[] = [];
  private layout: Layout = { columns: 1, cell: 0, rows: [] };
  private byKey = new Map<string, GpuModel>();
  private readonly onScroll = (): void => this.draw();

  constructor(root: HTMLElement, route: Route) {
    this.filter.value = route.query.get("q") ?? "";
    this.sort.value = route.query.get("sort") ?? "name";
    if (this.sort.value === "") this.sort.value = "name";
    this.filter.addEventListener("input", () => this.changed());
    this.sort.addEventListener("change", () => this.changed());
    this.rows.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("scroll", this.onScroll, { passive: true });
    append(root, [
      this.bar.element,
      this.count,
      legend(),
      this.overview.element,
      this.rows,
    ]);
  }

  show(model: Model): void {
    this.model = model;
    this.refit();
  }

  refit(): void {
    if (!this.model) return;
    const filter = parseFilter(this.filter.value);
    const fits = this.model.nodes.flatMap((node) => {
      const gpus = fitting(node, filter);
      return gpus ? [{ node, gpus }] : [];
    });
    this.shown = ordered(fits, this.sort.value);
    this.byKey = new Map(this.shown.flatMap(({ gpus }) => gpus.map((gpu) => [gpuKey(gpu), gpu])));
    const width = this.rows.clientWidth;
    this.layout = layOut(this.shown, width);
    this.rows.style.setProperty("--columns", String(this.layout.columns));
    this.overview.element.hidden = this.shown.length < MANY;
    if (!this.overview.element.hidden) this.overview.show(this.shown, width);
    this.list.set(this.layout.rows);
    this.tell();
    this.oneStop();
    this.tip.again();
  }

  close(): void {
    window.removeEventListener("scroll", this.onScroll);
    this.tip.close();
  }

  private changed(): void {
    history.replaceState(null, "", mapLink(this.filter.value.trim(), this.sort.value));
    this.refit();
  }

  private tell(): void {
    const { nodes, gpus } = this.model!;
    const shown = this.shown.reduce((sum, one) => sum + one.gpus.length, 0);
    const all = `${plural(gpus, "GPU")} on ${plural(nodes.length, "node")}`;
    this.count.textContent =
      shown === gpus && this.shown.length === nodes.length
        ? all
        : `${plural(shown, "GPU")} on ${plural(this.shown.length, "node")} of ${all}`;
    if (this.shown.length === 0) {
      this.count.textContent += nodes.length === 0 ? ": no node has a GPU." : ": nothing fits the filter.";
    }
  }

  private makeRow(row: Row): HTMLElement {
    return h(
      "div",
      { class: "map-row" },
      row.cards.map(({ node, gpus }) => card(node, gpus, this.layout.cell)),
    );
  }

  private draw(): void {
    this.list.draw();
    this.oneStop();
  }

  // Tab reaches one GPU of the map, the arrow keys the others.
  private oneStop(): void {
    if (this.rows.querySelector('[tabindex="0"]')) return;
    this.rows.querySelector(".gpu, [data-key]")?.setAttribute("tabindex", "0");
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const key = (event.target as Element).closest("[data-key]")?.getAttribute("data-key");
    if (!key) return;
    const to = this.moved(key, event.key);
    if (!to) return;
    event.preventDefault();
    this.focus(to.key, to.node);
  }

  private moved(from: string, key: string): { key: string; node: string } | undefined {
    const stops = this.shown.map((one) => [nodeKey(one.node), ...one.gpus.map(gpuKey)]);
    const at = stops.findIndex((keys) => keys.includes(from));
    if (at < 0) return undefined;
    let node = at;
    let stop = stops[at]!.indexOf(from);
    if (key === "ArrowRight") stop += 1;
    else if (key === "ArrowLeft") stop -= 1;
    else if (key === "ArrowDown") node += this.layout.columns;
    else if (key === "ArrowUp") node -= this.layout.columns;
    else if (key === "Home") [node, stop] = [0, 0];
    else if (key === "End") [node, stop] = [stops.length - 1, 0];
    else return undefined;
    if (stop >= stops[at]!.length) [node, stop] = [at + 1, 0];
    if (stop < 0) [node, stop] = [at - 1, Infinity];
    const keys = stops[node];
    if (!keys) return undefined;
    return { key: keys[Math.min(stop, keys.length - 1)]!, node: this.shown[node]!.node.node.name };
  }

  private focus(key: string, node: string): void {
    const row = this.layout.rows.find((one) => one.cards.some((c) => c.node.node.name === node));
    if (!row) return;
    this.list.scrollTo(row.key);
    const element = this.rows.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
    for (const old of this.rows.querySelectorAll('[tabindex="0"]')) old.setAttribute("tabindex", "-1");
    element?.setAttribute("tabindex", "0");
    element?.focus({ preventScroll: true });
  }
}
