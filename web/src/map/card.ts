// One node of the map: its name, what is wrong with it, and its GPUs.

import { h } from "../dom";
import type { Maybe } from "../fleet";
import { bytes, figure, percent, plural } from "../format";
import { type GpuModel, type NodeModel, mechanismsOf, podsOf, shortModel, sum } from "../model";
import { gpuLink, nodeLink } from "../router";
import { MECHANISM_WORDS } from "../words";
import { CELL, noted } from "./layout";
import { picture } from "./picture";

export const gpuKey = (gpu: GpuModel): string => `gpu:${gpu.node.name}:${gpu.gpu.uuid}`;
export const nodeKey = (node: NodeModel): string => `node:${node.node.name}`;

const used = (gpu: GpuModel): string =>
  gpu.used === undefined || gpu.total === undefined
    ? "memory unknown"
    : `${bytes(gpu.used)} of ${bytes(gpu.total)} used`;

const memory = (value: Maybe): string => (value === undefined ? "unknown" : bytes(value));

/** In words, what the picture shows. */
export function describe(gpu: GpuModel): string {
  const pods = podsOf(gpu);
  const names = pods
    .slice(0, 8)
    .map((pod) => `${pod.name} ${memory(sum(pod.containers.map((one) => one.memoryUsed)))}`);
  const more = pods.length > 8 ? ` and ${pods.length - 8} more` : "";
  const who = pods.length === 0 ? "no Pod" : `${plural(pods.length, "Pod")}: ${names.join(", ")}${more}`;
  return `GPU ${gpu.gpu.index} of ${gpu.node.name}, ${shortModel(gpu.gpu.model)}, ${used(gpu)}, ${who}`;
}

/** What hovering over a GPU, or reaching it by the keyboard, tells. */
export function tip(gpu: GpuModel): HTMLElement[] {
  const pods = podsOf(gpu);
  const lines = pods.slice(0, 12).map((pod) => {
    const first = pod.containers[0]!;
    return h(
      "li",
      {},
      h("span", { class: "tip-name" }, pod.name),
      ` ${first.migProfile || MECHANISM_WORDS[first.mechanism].name} · `,
      memory(sum(pod.containers.map((one) => one.memoryUsed))),
    );
  });
  if (pods.length > 12) lines.push(h("li", {}, `and ${pods.length - 12} more`));
  const instances = gpu.gpu.instances.map((one) => one.profile).join(", ");
  return [
    h("strong", {}, `GPU ${gpu.gpu.index} · ${shortModel(gpu.gpu.model)}`),
    h("div", {}, used(gpu)),
    ...(gpu.gpu.mig ? [h("div", {}, `MIG: ${instances || "no instance"}`)] : []),
    lines.length > 0 ? h("ul", {}, lines) : h("div", {}, "No container has it."),
  ];
}

function letters(gpu: GpuModel): string {
  const words = mechanismsOf(gpu).map((one) => MECHANISM_WORDS[one].letter);
  const pods = gpu.containers.length === 0 ? 0 : podsOf(gpu).length;
  return pods === 0 ? words.join("") || "–" : `${words.join("")}×${pods}`;
}

function cell(gpu: GpuModel, width: number): HTMLElement {
  const part = gpu.used === undefined || !gpu.total ? undefined : gpu.used / gpu.total;
  return h(
    "a",
    {
      class: "gpu",
      href: gpuLink(gpu.node.name, gpu.gpu.uuid),
      tabindex: -1,
      "data-key": gpuKey(gpu),
      "data-gpu": gpu.gpu.uuid,
      "data-used": gpu.used ?? "unknown",
      "aria-label": describe(gpu),
    },
    picture(gpu, width, CELL.picture),
    h(
      "span",
      { class: "gpu-caption", "aria-hidden": "true" },
      h("span", {}, String(gpu.gpu.index)),
      h("span", { class: "letters" }, letters(gpu)),
      h("span", {}, part === undefined ? "?" : percent(part).replace(" ", "\u2009")),
    ),
  );
}

function note({ node }: NodeModel): string {
  const broken = node.checks.filter((check) => !check.works).map((check) => check.name);
  return [
    node.reporting === "silent" ? `Silent: ${node.why || "its agent never answered"}` : "",
    node.reporting === "stale" ? `Stale: ${node.why || "its agent does not answer"}` : "",
    node.closed !== "" ? `Closed to new Pods: ${node.closed}` : "",
    broken.length > 0 ? `Fails: ${broken.join(", ")}` : "",
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

export function card(node: NodeModel, gpus: GpuModel[], width: number): HTMLElement {
  const models = [...new Set(node.gpus.map((gpu) => shortModel(gpu.gpu.model)))];
  const wrong = noted(node);
  return h(
    "section",
    { class: `card ${node.node.reporting}${node.node.closed !== "" ? " closed" : ""}` },
    h(
      "h2",
      { class: "card-head" },
      h(
        "a",
        { href: nodeLink(node.node.name), tabindex: -1, "data-key": nodeKey(node) },
        node.node.name || "(no name)",
      ),
      h("span", { class: "card-models" }, models.join(", ")),
      h(
        "span",
        { class: "card-count" },
        figure("containers", node.containers),
        h("span", { class: "unit" }, node.containers === 1 ? "container" : "containers"),
      ),
    ),
    wrong && h("p", { class: "card-note", title: note(node) }, note(node)),
    h(
      "div",
      { class: "gpus" },
      gpus.length > 0 ? gpus.map((gpu) => cell(gpu, width)) : h("p", { class: "none" }, "No GPU is known."),
    ),
  );
}
