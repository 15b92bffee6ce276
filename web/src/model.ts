// A fleet with the joins that views need: GPUs with their containers, Pods with what they have.

import {
  type Container,
  type Fleet,
  type Gpu,
  MECHANISMS,
  type Maybe,
  type Mechanism,
  type Node,
  type Waiting,
} from "./fleet";

export interface GpuModel {
  node: Node;
  gpu: Gpu;
  containers: Container[];
  total: Maybe;
  used: Maybe;
}

export interface NodeModel {
  node: Node;
  gpus: GpuModel[];
  containers: number;
}

export interface PodModel {
  ns: string;
  pod: string;
  parts: { node: Node; container: Container }[];
  waiting: Waiting | undefined;
}

export interface Model {
  fleet: Fleet;
  nodes: NodeModel[];
  reporting: number; // nodes that are fresh
  gpus: number;
  containers: number;
}

function nodeModel(node: Node): NodeModel {
  const byGpu = new Map<string, Container[]>();
  for (const one of node.containers) {
    const there = byGpu.get(one.gpu);
    if (there) there.push(one);
    else byGpu.set(one.gpu, [one]);
  }
  const gpus = node.gpus.map((gpu) => ({
    node,
    gpu,
    containers: byGpu.get(gpu.uuid) ?? [],
    total: gpu.memory?.total ?? gpu.memoryTotal,
    used: gpu.memory ? gpu.memory.total - gpu.memory.free : gpu.memoryUsed,
  }));
  return { node, gpus, containers: node.containers.length };
}

export function makeModel(fleet: Fleet): Model {
  const nodes = fleet.nodes.map(nodeModel);
  return {
    fleet,
    nodes,
    reporting: fleet.nodes.filter((node) => node.reporting === "fresh").length,
    gpus: nodes.reduce((sum, node) => sum + node.gpus.length, 0),
    containers: nodes.reduce((sum, node) => sum + node.containers, 0),
  };
}

export function findPod(model: Model, ns: string, pod: string): PodModel {
  const parts = model.fleet.nodes.flatMap((node) =>
    node.containers
      .filter((container) => container.ns === ns && container.pod === pod)
      .map((container) => ({ node, container })),
  );
  const waiting = model.fleet.waiting.find((one) => one.ns === ns && one.pod === pod);
  return { ns, pod, parts, waiting };
}

/** Those of a GPU, each once, in a fixed order. */
export function mechanismsOf({ gpu, containers }: GpuModel): Mechanism[] {
  return MECHANISMS.filter((one) => containers.some((c) => c.mechanism === one) || (one === "mig" && gpu.mig));
}

/** The sum, or undefined where one of them is unknown. */
export function sum(values: Maybe[]): Maybe {
  let total = 0;
  for (const value of values) {
    if (value === undefined) return undefined;
    total += value;
  }
  return total;
}

/** Pods of one GPU with their containers there. Those whose names the reader may not see stay apart from each other. */
export function podsOf(gpu: GpuModel): { name: string; containers: Container[] }[] {
  const pods = new Map<string, Container[]>();
  gpu.containers.forEach((one, index) => {
    const key = one.pod === "" ? `?${index}` : `${one.ns}/${one.pod}`;
    pods.set(key, [...(pods.get(key) ?? []), one]);
  });
  return [...pods.values()].map((containers) => ({ name: podName(containers[0]!), containers }));
}

/** Names are empty where the reader may not see them. */
export const podName = ({ ns, pod }: { ns: string; pod: string }): string =>
  pod === "" ? "others" : `${ns}/${pod}`;

/** "H100 80GB HBM3": without the words that every card has. */
export const shortModel = (model: string): string =>
  model.replace(/^NVIDIA\s+/, "").replace(/^(Tesla|GeForce)\s+/, "") || "unknown model";
