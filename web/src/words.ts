// What the words of fleet/v1 mean, in sentences.

import type { Mechanism } from "./fleet";

export interface MechanismWords {
  name: string;
  letter: string; // beside the colour
  means: string;
}

export const MECHANISM_WORDS: Record<Mechanism, MechanismWords> = {
  exclusive: { name: "exclusive", letter: "E", means: "one container has the whole GPU" },
  mig: { name: "MIG", letter: "M", means: "a part separated by hardware" },
  "time-slicing": { name: "time-slicing", letter: "T", means: "containers take turns" },
  mps: { name: "MPS", letter: "P", means: "containers run at once, through NVIDIA's MPS" },
  share: { name: "share", letter: "S", means: "a share by a claim" },
  none: { name: "no grant", letter: "!", means: "it uses a GPU that nobody gave it" },
};

const CAUSES = new Map(
  Object.entries({
    "not-enough": "No node has as many free",
    "no-such-resource": "No node offers what it asks for",
    taint: "Nodes that have it keep it off by a taint",
    affinity: "Its selector, affinity or spread leaves no node that has it",
    "other-resource": "CPU, memory, Pods, ports or volumes are short on nodes that have it",
    quota: "The quota of its namespace is used up",
    claim: "Its claim is missing, is being made, or cannot be allocated",
    gate: "A scheduling gate holds it on purpose",
    topology: "Kubelet's topology manager rejected it",
    admission: "Kubelet rejected it",
    starting: "It has a node and is starting: images, volumes",
    unknown: "Nobody has said why yet",
  }),
);

export const causeWords = (cause: string): string => CAUSES.get(cause) ?? cause;

const CHECKS = new Map(
  Object.entries({
    "host-processes":
      "The agent does not see the node's processes (hostPID): which Pod uses how much memory is unknown.",
    "control-groups":
      "The agent cannot read control groups in a form that it knows: processes cannot be matched with Pods.",
    pods: "The agent cannot list the node's Pods (RBAC, API server): names of Pods may be missing.",
    kubelet: "Kubelet does not answer who holds which device: holders may be missing.",
    driver: "NVML does not list the processes of a GPU: what they use is unknown.",
    arbiter: "No arbiter runs: compute time is an estimate, or unknown.",
  }),
);

export const checkWords = (name: string): string => CHECKS.get(name) ?? "The agent cannot use this source.";
