// The filter box of the map: words that must all be found. "pod:train" looks at Pods alone; also node:, ns:,
// model:, mechanism:, tier:, is: (fresh, stale, silent, closed).

import { MECHANISM_WORDS } from "../words";
import { type GpuModel, type NodeModel, mechanismsOf } from "../model";

type Key = "" | "node" | "ns" | "pod" | "model" | "mechanism" | "tier" | "is";
const KEYS: readonly string[] = ["node", "ns", "pod", "model", "mechanism", "tier", "is"];

interface Term {
  key: Key;
  text: string;
}

export type Filter = Term[];

export function parseFilter(query: string): Filter {
  return query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => {
      const colon = word.indexOf(":");
      const key = word.slice(0, Math.max(colon, 0));
      return KEYS.includes(key)
        ? { key: key as Key, text: word.slice(colon + 1) }
        : { key: "" as Key, text: word };
    });
}

const has = (text: string, part: string): boolean => text.toLowerCase().includes(part);

function nodeHas({ node }: NodeModel, { key, text }: Term): boolean {
  if (key === "is") return (node.closed !== "" && text === "closed") || node.reporting === text;
  return (key === "" || key === "node") && has(node.name, text);
}

function gpuHas(gpu: GpuModel, { key, text }: Term): boolean {
  const any = key === "";
  if ((any || key === "model") && has(gpu.gpu.model, text)) return true;
  if (
    (any || key === "mechanism") &&
    mechanismsOf(gpu).some((one) => has(one, text) || has(MECHANISM_WORDS[one].name, text))
  ) {
    return true;
  }
  return gpu.containers.some(
    (one) =>
      ((any || key === "pod") && has(one.pod, text)) ||
      ((any || key === "ns") && has(one.ns, text)) ||
      ((any || key === "tier") && has(one.tier, text)),
  );
}

/** The GPUs of the node that fit; undefined: the node does not. */
export function fitting(node: NodeModel, filter: Filter): GpuModel[] | undefined {
  const open = filter.filter((term) => !nodeHas(node, term));
  if (open.length === 0) return node.gpus;
  const gpus = node.gpus.filter((gpu) => open.every((term) => gpuHas(gpu, term)));
  return gpus.length > 0 ? gpus : undefined;
}
