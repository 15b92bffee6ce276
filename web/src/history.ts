// What containers used while the page was open. Kept for all of a small cluster, else for the Pods that were looked at.

import type { Container, Maybe, Node } from "./fleet";
import type { Model } from "./model";

const SAMPLES = 360; // half an hour of one each 5 s
const SMALL = 2000; // containers

export interface Series {
  times: number[]; // s since 1970
  memory: Maybe[];
  share: Maybe[];
  waited: Maybe[];
}

const keyOf = (node: string, one: Container): string =>
  [node, one.ns, one.pod, one.container, one.device, one.resource].join("\n");

export class History {
  private readonly series = new Map<string, Series>();
  private readonly watched = new Set<string>();

  /** Keeps what this Pod uses, also in a large cluster. */
  watch(ns: string, pod: string): void {
    this.watched.add(`${ns}\n${pod}`);
  }

  add(model: Model): void {
    const all = model.containers <= SMALL;
    const alive = new Set<string>();
    for (const node of model.fleet.nodes) {
      if (node.reporting === "silent") continue;
      for (const one of node.containers) {
        if (one.pod === "" || !(all || this.watched.has(`${one.ns}\n${one.pod}`))) continue;
        const key = keyOf(node.name, one);
        alive.add(key);
        this.sample(key, node, one);
      }
    }
    for (const key of this.series.keys()) if (!alive.has(key)) this.series.delete(key);
  }

  of(node: Node, one: Container): Series | undefined {
    return this.series.get(keyOf(node.name, one));
  }

  private sample(key: string, node: Node, one: Container): void {
    const time = node.takenAt / 1000;
    if (Number.isNaN(time)) return;
    let series = this.series.get(key);
    if (!series) {
      series = { times: [], memory: [], share: [], waited: [] };
      this.series.set(key, series);
    }
    const last = series.times.at(-1);
    if (last !== undefined && time <= last) return; // a stale node's figures, told again
    series.times.push(time);
    series.memory.push(one.memoryUsed);
    series.share.push(one.computeShare);
    series.waited.push(one.waitedShare);
    if (series.times.length > SAMPLES) {
      for (const line of [series.times, series.memory, series.share, series.waited]) line.shift();
    }
  }
}
