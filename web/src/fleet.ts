// fleet/v1 as the page reads it (src/kubernetes/fleet/fleet_json.h). A field that is absent is unknown (`undefined`),
// empty or 0, as the format says. Of a wrong kind counts as absent: a torn field must not take the page with it.

// In the order of the legend.
export const MECHANISMS = ["exclusive", "mig", "time-slicing", "mps", "share", "none"] as const;
export type Mechanism = (typeof MECHANISMS)[number];
export type Reporting = "fresh" | "stale" | "silent";
export type Maybe = number | undefined;

export interface Container {
  ns: string;
  pod: string;
  container: string;
  resource: string;
  mechanism: Mechanism;
  tier: string;
  gpu: string;
  device: string;
  migProfile: string;
  gpus: number;
  attributed: boolean;
  processes: Maybe;
  memoryUsed: Maybe;
  memoryPeak: Maybe;
  memoryLimit: Maybe;
  computePromised: Maybe;
  estimated: boolean; // its compute share comes from the driver's samples
  computeShare: Maybe;
  waitedShare: Maybe;
  launches: Maybe;
  allocationFailures: Maybe;
}

export interface Memory {
  total: number;
  free: number;
  reserved: number;
  containers: number;
  hostProcesses: number;
  unknown: number;
  unattributed: number;
}

export interface Instance {
  uuid: string;
  profile: string;
  gpuInstance: number;
  memory: Maybe;
  start: Maybe;
  size: Maybe;
}

export interface Gpu {
  index: number;
  uuid: string;
  model: string;
  mig: boolean;
  instances: Instance[];
  memory: Memory | undefined;
  memoryTotal: Maybe;
  memoryUsed: Maybe;
  utilization: Maybe;
  temperatureC: Maybe;
  powerW: Maybe;
  lastXid: Maybe;
}

export interface Check {
  name: string;
  works: boolean;
}

export interface Node {
  name: string;
  reporting: Reporting;
  why: string;
  closed: string;
  takenAt: number; // ms since 1970; NaN: not told
  agent: string;
  driverVersion: string;
  age: Maybe; // s
  gpus: Gpu[];
  containers: Container[];
  checks: Check[];
}

export interface Capacity {
  resource: string;
  mechanism: Mechanism;
  tier: string;
  advertised: number;
  allocated: number;
  withheld: number;
  free: number;
  pending: number;
}

export interface NamespaceUse {
  ns: string;
  resource: string;
  tier: string;
  allocated: number;
  pending: number;
}

export interface Waiting {
  ns: string;
  pod: string;
  since: number; // ms since 1970
  wants: { resource: string; count: number }[];
  tier: string;
  cause: string;
  message: string;
  node: string;
}

export interface Fleet {
  cluster: string;
  takenAt: number;
  nodes: Node[];
  capacity: Capacity[];
  namespaces: NamespaceUse[];
  waiting: Waiting[];
}

type Json = Record<string, unknown>;

const object = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
const list = <T>(value: unknown, read: (json: Json) => T): T[] =>
  Array.isArray(value) ? value.map((one) => read(object(one))) : [];
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const maybe = (value: unknown): Maybe =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;
const count = (value: unknown): number => maybe(value) ?? 0;
const time = (value: unknown): number => Date.parse(text(value));

const mechanism = (value: unknown): Mechanism =>
  MECHANISMS.find((one) => one === value) ?? "exclusive";
const reporting = (value: unknown): Reporting => (value === "fresh" || value === "stale" ? value : "silent");

const container = (json: Json): Container => ({
  ns: text(json.namespace),
  pod: text(json.pod),
  container: text(json.container),
  resource: text(json.resource),
  mechanism: mechanism(json.mechanism),
  tier: text(json.tier),
  gpu: text(json.gpu),
  device: text(json.device),
  migProfile: text(json.migProfile),
  gpus: count(json.gpus),
  attributed: json.attributed === true,
  processes: maybe(json.processes),
  memoryUsed: maybe(json.memoryUsed),
  memoryPeak: maybe(json.memoryPeak),
  memoryLimit: maybe(json.memoryLimit),
  computePromised: maybe(json.computePromised),
  estimated: maybe(json.computeEstimatedNs) !== undefined,
  computeShare: maybe(json.computeShare),
  waitedShare: maybe(json.waitedShare),
  launches: maybe(json.launches),
  allocationFailures: maybe(json.allocationFailures),
});

function memory(value: unknown): Memory | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const json = object(value);
  return {
    total: count(json.total),
    free: count(json.free),
    reserved: count(json.reserved),
    containers: count(json.containers),
    hostProcesses: count(json.hostProcesses),
    unknown: count(json.unknown),
    unattributed: count(json.unattributed),
  };
}

const instance = (json: Json): Instance => ({
  uuid: text(json.uuid),
  profile: text(json.profile),
  gpuInstance: count(json.gpuInstance),
  memory: maybe(json.memory),
  start: maybe(json.start),
  size: maybe(json.size),
});

const gpu = (json: Json): Gpu => ({
  index: count(json.index),
  uuid: text(json.uuid),
  model: text(json.model),
  mig: json.mig === true,
  instances: list(json.instances, instance),
  memory: memory(json.memory),
  memoryTotal: maybe(json.memoryTotal),
  memoryUsed: maybe(json.memoryUsed),
  utilization: maybe(json.utilization),
  temperatureC: maybe(json.temperatureC),
  powerW: maybe(json.powerW),
  lastXid: maybe(json.lastXid),
});

function node(json: Json): Node {
  const usage = object(json.usage);
  const age = maybe(usage.ageNs);
  return {
    name: text(json.name),
    reporting: reporting(json.reporting),
    why: text(json.why),
    closed: text(json.closed),
    takenAt: time(usage.takenAt),
    agent: text(usage.agent),
    driverVersion: text(usage.driverVersion),
    age: age === undefined ? undefined : age / 1e9,
    gpus: list(usage.gpus, gpu),
    containers: list(usage.containers, container),
    checks: list(usage.checks, (one) => ({ name: text(one.name), works: one.works === true })),
  };
}

const capacity = (json: Json): Capacity => ({
  resource: text(json.resource),
  mechanism: mechanism(json.mechanism),
  tier: text(json.tier),
  advertised: count(json.advertised),
  allocated: count(json.allocated),
  withheld: count(json.withheld),
  free: count(json.free),
  pending: count(json.pending),
});

const namespaceUse = (json: Json): NamespaceUse => ({
  ns: text(json.namespace),
  resource: text(json.resource),
  tier: text(json.tier),
  allocated: count(json.allocated),
  pending: count(json.pending),
});

const waiting = (json: Json): Waiting => ({
  ns: text(json.namespace),
  pod: text(json.pod),
  since: time(json.since),
  wants: list(json.wants, (one) => ({ resource: text(one.resource), count: count(one.count) })),
  tier: text(json.tier),
  cause: text(json.cause),
  message: text(json.message),
  node: text(json.node),
});

/** Throws an Error, for people, if `json` is no fleet/v1. */
export function readFleet(value: unknown): Fleet {
  const json = object(value);
  if (json.version !== "fleet/v1") {
    throw new Error(
      typeof json.version === "string"
        ? `The controller speaks ${json.version}, this page fleet/v1: load the page again.`
        : "What came is no fleet/v1.",
    );
  }
  return {
    cluster: text(json.cluster),
    takenAt: time(json.takenAt),
    nodes: list(json.nodes, node),
    capacity: list(json.capacity, capacity),
    namespaces: list(json.namespaces, namespaceUse),
    waiting: list(json.waiting, waiting),
  };
}
