// One Pod: what it asked for, got, used, and how long it waited.

import { Chart, type Unit } from "../chart";
import { type Child, append, h, replace } from "../dom";
import { facts } from "../facts";
import type { Container, Node } from "../fleet";
import { bytes, figure, percent } from "../format";
import { type Model, type PodModel, findPod } from "../model";
import { type Route, gpuLink, nodeLink } from "../router";
import { mechanism } from "../swatch";
import type { Context, View } from "../view";
import { causeWords } from "../words";
import { limit, memoryBar, part, share, shareBar, unattributed } from "./containers";
import { since, wishes } from "./waiting";

const MIB = 1024 ** 2;
const MEMORY: Unit = {
  how: bytes,
  least: 64 * MIB,
  steps: Array.from({ length: 24 }, (_, power) => MIB * 2 ** power),
};
const SHARE: Unit = { how: percent, least: 0.1 };

interface Charts {
  memory: Chart;
  compute: Chart;
}

const keyOf = (node: Node, { container, device, resource }: Container): string =>
  `${node.name} ${container} ${device} ${resource}`;

export class PodView implements View {
  readonly title: string;
  private readonly ns: string;
  private readonly pod: string;
  private readonly facts = h("div");
  private readonly charts = new Map<string, { element: HTMLElement; charts: Charts }>();

  constructor(
    root: HTMLElement,
    route: Route,
    private readonly context: Context,
  ) {
    [this.ns = "", this.pod = ""] = route.parts;
    this.title = `Pod ${this.ns}/${this.pod}`;
    context.history.watch(this.ns, this.pod);
    append(root, [this.facts]);
  }

  show(model: Model): void {
    const pod = findPod(model, this.ns, this.pod);
    const keys = new Set<string>();
    replace(
      this.facts,
      waitingFacts(pod, model),
      pod.parts.map(({ node, container }) => {
        const key = keyOf(node, container);
        keys.add(key);
        return this.section(key, node, container);
      }),
      pod.parts.length === 0 && !pod.waiting && nothing(),
    );
    for (const [key, { charts }] of this.charts) {
      if (keys.has(key)) continue;
      charts.memory.close();
      charts.compute.close();
      this.charts.delete(key);
    }
    this.draw(pod);
  }

  refit(): void {
    for (const { charts } of this.charts.values()) {
      charts.memory.refit();
      charts.compute.refit();
    }
  }

  close(): void {
    for (const { charts } of this.charts.values()) {
      charts.memory.close();
      charts.compute.close();
    }
  }

  private section(key: string, node: Node, one: Container): HTMLElement {
    const gpu = node.gpus.find((gpu) => gpu.uuid === one.gpu);
    const device =
      one.device === one.gpu
        ? (gpu?.memory?.total ?? gpu?.memoryTotal)
        : gpu?.instances.find((instance) => instance.uuid === one.device)?.memory;
    return h(
      "section",
      { class: "panel", "data-container": one.container, "data-device": one.device },
      h("h2", {}, `Container ${one.container}`),
      h(
        "p",
        { class: "where" },
        mechanism(one.mechanism),
        " on ",
        h("a", { href: gpuLink(node.name, one.gpu), "data-key": `gpu:${key}` }, `GPU ${gpu?.index ?? "?"}`),
        " of ",
        h("a", { href: nodeLink(node.name), "data-key": `node:${key}` }, node.name),
      ),
      node.reporting !== "fresh" &&
        h(
          "p",
          { class: "note" },
          `The node is ${node.reporting}: ${node.why || "its agent does not answer"}.`,
        ),
      node.reporting !== "silent" && unattributed(one),
      facts(
        ["Asked for", one.resource === "" ? "nothing" : h("code", {}, one.resource), one.tier !== "" && ` (tier ${one.tier})`],
        ["Got", part(one)],
        ["Processes", figure("processes", one.processes)],
      ),
      h("h3", {}, "Memory"),
      memoryBar(one, device),
      facts(
        ["Used", figure("memoryUsed", one.memoryUsed, bytes)],
        ["Limit", limit(node, one)],
        ["Peak", figure("memoryPeak", one.memoryPeak, bytes)],
        ["Refused allocations", figure("allocationFailures", one.allocationFailures)],
      ),
      h("h3", {}, "GPU time, over the last minute"),
      shareBar(one),
      facts(
        ["Got", share(one)],
        ["Promised", figure("computePromised", one.computePromised, percent)],
        ["Waited", figure("waitedShare", one.waitedShare, percent)],
        ["Launches", figure("launches", one.launches)],
      ),
      this.chartsOf(key).element,
    );
  }

  private chartsOf(key: string): { element: HTMLElement; charts: Charts } {
    let there = this.charts.get(key);
    if (!there) {
      const charts = {
        memory: new Chart("Memory used", [{ label: "used", colour: "line-1" }], MEMORY),
        compute: new Chart(
          "GPU time",
          [
            { label: "got", colour: "line-1" },
            { label: "waited", colour: "line-2", dash: [6, 4] },
          ],
          SHARE,
        ),
      };
      const element = h("div", { class: "charts" }, charts.memory.element, charts.compute.element);
      there = { element, charts };
      this.charts.set(key, there);
    }
    return there;
  }

  private draw(pod: PodModel): void {
    for (const { node, container } of pod.parts) {
      const key = keyOf(node, container);
      const series = this.context.history.of(node, container);
      const there = this.charts.get(key);
      if (!there) continue;
      // One moment makes no line.
      there.element.hidden = this.context.saved || !series || series.times.length < 2;
      if (!series || there.element.hidden) continue;
      there.charts.memory.show(series.times, [series.memory]);
      there.charts.compute.show(series.times, [series.share, series.waited]);
    }
  }
}

function waitingFacts(pod: PodModel, model: Model): Child {
  const one = pod.waiting;
  if (!one) return null;
  return h(
    "section",
    { class: "panel" },
    h("h2", {}, "It waits"),
    facts(
      ["Asks for", wishes(one), one.tier !== "" && ` (tier ${one.tier})`],
      ["Since", since(one, model.fleet.takenAt)],
      ["Why", causeWords(one.cause)],
      [
        "Node",
        one.node === "" ? "none yet" : h("a", { href: nodeLink(one.node), "data-key": "node" }, one.node),
      ],
      ["Message", h("span", { class: "message" }, one.message || "none")],
    ),
    h("p", {}, "More: ", h("code", {}, `kubectl -n ${pod.ns} describe pod ${pod.pod}`)),
  );
}

const nothing = (): HTMLElement =>
  h(
    "p",
    { class: "none" },
    "No such Pod has a GPU or waits for one, as far as you may see. Pods that ended leave at once.",
  );
