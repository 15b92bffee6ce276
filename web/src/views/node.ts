// One node: its GPUs, its containers, and what its agent cannot see.

import { type Part, bar } from "../bar";
import { type Child, h, replace } from "../dom";
import { facts } from "../facts";
import type { Container, Instance, Memory, Node } from "../fleet";
import { bytes, duration, figure, percent } from "../format";
import { CELL } from "../map/layout";
import { picture } from "../map/picture";
import { type GpuModel, type Model, type NodeModel, podName, podsOf, shortModel, sum } from "../model";
import type { Route } from "../router";
import { legend, mechanism } from "../swatch";
import { type Column, table } from "../table";
import type { View } from "../view";
import { checkWords } from "../words";
import { limit, part, share } from "./containers";
import { who } from "./waiting";

const containerColumns = (node: Node): Column<Container>[] => [
  { head: "Pod", cell: who },
  { head: "Container", cell: (one) => one.container || "–" },
  { head: "How", cell: (one) => mechanism(one.mechanism) },
  { head: "Got", cell: part },
  { head: "Memory", number: true, cell: (one) => figure("memoryUsed", one.memoryUsed, bytes) },
  { head: "Limit", number: true, cell: (one) => limit(node, one) },
  { head: "Peak", number: true, cell: (one) => figure("memoryPeak", one.memoryPeak, bytes) },
  { head: "GPU time", number: true, cell: share },
  { head: "Promised", number: true, cell: (one) => figure("computePromised", one.computePromised, percent) },
  { head: "Waited", number: true, cell: (one) => figure("waitedShare", one.waitedShare, percent) },
];

// Of the account of a GPU's memory: field, words, class.
const ACCOUNT = [
  ["containers", "containers", ""],
  ["hostProcesses", "processes of the host", "host"],
  ["unknown", "processes of unknown containers", "unknown"],
  ["unattributed", "no process's, by the driver's list", "unknown"],
  ["reserved", "the driver's", "reserved"],
  ["free", "free", "free"],
] as const;

// Containers by Pod, in the colours of the map.
function memoryParts(gpu: GpuModel, memory: Memory): Part[] {
  return ACCOUNT.flatMap(([field, , kind]): Part[] =>
    field !== "containers"
      ? [{ size: memory[field], kind }]
      : podsOf(gpu).map((pod) => ({
          size: sum(pod.containers.map((one) => one.memoryUsed)) ?? 0,
          kind: pod.containers[0]!.mechanism,
        })),
  );
}

function account(gpu: GpuModel): Child {
  const memory = gpu.gpu.memory;
  if (!memory) {
    return h(
      "p",
      { class: "note" },
      "Who holds its memory is unknown; used by the driver's count: ",
      figure("memoryUsed", gpu.gpu.memoryUsed, bytes),
      " of ",
      figure("memoryTotal", gpu.gpu.memoryTotal, bytes),
    );
  }
  return [
    bar(memoryParts(gpu, memory), memory.total),
    facts(
      ...ACCOUNT.filter(([field]) => memory[field] > 0 || field === "free" || field === "containers").map(
        ([field, words]): [string, Child] => [words, figure(field, memory[field], bytes)],
      ),
    ),
  ];
}

function place({ start, size = 1 }: Instance): string {
  if (start === undefined) return "place unknown";
  return size > 1 ? `slices ${start} to ${start + size - 1}` : `slice ${start}`;
}

function instances({ gpu }: GpuModel): Child {
  if (!gpu.mig) return null;
  if (gpu.instances.length === 0) return h("p", { class: "note" }, "MIG is on, and there is no instance.");
  return h(
    "ul",
    { class: "instances" },
    gpu.instances.map((one) =>
      h(
        "li",
        { "data-instance": one.uuid },
        h("b", {}, one.profile),
        ` ${place(one)}`,
        ", ",
        figure("memory", one.memory, bytes),
      ),
    ),
  );
}

function gpuPanel(gpu: GpuModel, chosen: boolean): HTMLElement {
  const one = gpu.gpu;
  const id = `gpu-${one.index}`;
  return h(
    "section",
    { class: chosen ? "panel chosen" : "panel", "data-gpu": one.uuid, "aria-labelledby": id },
    h("h2", { id }, `GPU ${one.index} · ${shortModel(one.model)}`, one.mig && " · MIG"),
    h("p", { class: "uuid" }, one.uuid),
    one.mig && picture(gpu, 4 * CELL.width, CELL.picture),
    account(gpu),
    instances(gpu),
    facts(
      [
        "busy",
        one.mig ? h("span", {}, "not told of a MIG GPU") : figure("utilization", one.utilization, percent),
      ],
      ["temperature", figure("temperatureC", one.temperatureC, (n) => `${Math.round(n)} °C`)],
      ["power", figure("powerW", one.powerW, (n) => `${Math.round(n)} W`)],
      [
        "last XID",
        one.lastXid === undefined && gpu.node.reporting !== "silent"
          ? "none since the agent started"
          : figure("lastXid", one.lastXid, String),
      ],
    ),
    gpu.containers.length > 0
      ? table(`Containers on GPU ${one.index}`, containerColumns(gpu.node), gpu.containers, (c) => ({
          "data-row": `${podName(c)}/${c.container}`,
        }))
      : h("p", { class: "none" }, "No container has it."),
  );
}

function state({ node }: NodeModel): Child {
  const broken = node.checks.filter((check) => !check.works);
  return [
    node.reporting === "silent" &&
      h(
        "p",
        { class: "note" },
        `Its agent never answered (${node.why || "no reason is known"}): what is used is unknown. GPUs and containers are those of its GPUNode.`,
      ),
    node.reporting === "stale" &&
      h(
        "p",
        { class: "note" },
        `Its agent does not answer (${node.why || "no reason is known"}): these are its last figures.`,
      ),
    node.reporting === "fresh" &&
      node.why !== "" &&
      h("p", { class: "note" }, `Its agent answers, but ${node.why}.`),
    node.closed !== "" && h("p", { class: "note" }, `It takes no new Pods: ${node.closed}.`),
    broken.length > 0 &&
      h(
        "section",
        { class: "panel checks" },
        h("h2", {}, "What its agent cannot see"),
        h(
          "dl",
          {},
          broken.map(({ name }) => [h("dt", { "data-check": name }, name), h("dd", {}, checkWords(name))]),
        ),
        h("p", {}, "More: ", h("code", {}, "tranche doctor --node"), " in its agent's Pod."),
      ),
  ];
}

export class NodeView implements View {
  readonly title: string;
  private readonly name: string;
  private readonly chosen: string;
  private arrived = false;

  constructor(
    private readonly root: HTMLElement,
    route: Route,
  ) {
    [this.name = "", this.chosen = ""] = route.parts;
    this.title = `Node ${this.name}`;
  }

  show(model: Model): void {
    const found = model.nodes.find(({ node }) => node.name === this.name);
    if (!found) return replace(this.root, h("p", { class: "none" }, "The cluster has no such node."));
    const { node } = found;
    const age = node.age === undefined ? undefined : node.age + (model.fleet.takenAt - node.takenAt) / 1000;
    replace(
      this.root,
      h(
        "p",
        { class: "where" },
        `driver ${node.driverVersion || "unknown"} · agent ${node.agent || "unknown"} · readings `,
        figure("age", age, (s) => `${duration(s)} old`),
      ),
      state(found),
      found.gpus.some((gpu) => gpu.gpu.mig) && legend(),
      found.gpus.length === 0 && h("p", { class: "none" }, "No GPU of this node is known."),
      found.gpus.map((gpu) => gpuPanel(gpu, gpu.gpu.uuid === this.chosen)),
      strays(found),
    );
    this.arrive();
  }

  // To the GPU that was chosen on the map, once.
  private arrive(): void {
    if (this.arrived) return;
    this.arrived = true;
    this.root.querySelector(".chosen")?.scrollIntoView();
  }
}

// Containers of GPUs that the node does not list.
function strays({ node, gpus }: NodeModel): Child {
  const known = new Set(gpus.map(({ gpu }) => gpu.uuid));
  const others = node.containers.filter((one) => !known.has(one.gpu));
  return (
    others.length > 0 &&
    table("Containers on GPUs that are not listed", containerColumns(node), others, (c) => ({
      "data-row": `${podName(c)}/${c.container}`,
    }))
  );
}
