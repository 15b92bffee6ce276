// The picture of one GPU: its memory from left to right, a stripe for each Pod; of a MIG GPU its instances in their
// places, each filled by what its Pods use.

import { svg } from "../dom";
import type { Container, Instance, Maybe, Mechanism } from "../fleet";
import { type GpuModel, podsOf, sum } from "../model";

export interface Stripe {
  x: number; // 0 to 1, of the GPU's width
  width: number;
  kind: Mechanism | "host" | "unknown" | "reserved" | "free-place" | "place";
  fill: number; // height of the filled part, 0 to 1
}

const used = (containers: Container[]): Maybe => sum(containers.map((one) => one.memoryUsed));

const MOST_SLICES = 16; // no GPU has more

interface Place {
  start: number;
  size: number;
}

// undefined: unknown, or none that a GPU can have.
function placeOf({ start, size }: Instance): Place | undefined {
  const can =
    Number.isInteger(start) &&
    Number.isInteger(size) &&
    start! >= 0 &&
    size! > 0 &&
    start! + size! <= MOST_SLICES;
  return can ? { start: start!, size: size! } : undefined;
}

// Memory slices of a GPU, in which instances have their places.
function slicesOf(gpu: GpuModel): number {
  return gpu.gpu.instances
    .map(placeOf)
    .reduce(
      (most, place) => Math.max(most, place ? place.start + place.size : 0),
      /\bA30\b/.test(gpu.gpu.model) ? 4 : 8,
    );
}

function instanceStripes(gpu: GpuModel, one: Instance, x: number, width: number): Stripe[] {
  const place: Stripe = { x, width, kind: "place", fill: 1 };
  const here = gpu.containers.filter((container) => container.device === one.uuid);
  if (here.length === 0) return [place];
  const memory = used(here);
  if (memory === undefined || !one.memory) {
    return [place, { x, width, kind: "unknown", fill: 1 }];
  }
  // Under time-slicing on an instance several have it; the instance itself is what shows.
  return [place, { x, width, kind: here[0]!.mechanism, fill: Math.min(1, memory / one.memory) }];
}

function migStripes(gpu: GpuModel): Stripe[] {
  const slices = slicesOf(gpu);
  const taken = new Array<boolean>(slices).fill(false);
  const stripes: Stripe[] = [];
  for (const one of gpu.gpu.instances.slice(0, MOST_SLICES)) {
    const place = placeOf(one);
    if (!place) continue;
    taken.fill(true, place.start, place.start + place.size);
    stripes.push(...instanceStripes(gpu, one, place.start / slices, place.size / slices));
  }
  // Instances whose places nobody has told: side by side in what is left.
  const placeless = gpu.gpu.instances.filter((one) => !placeOf(one)).slice(0, MOST_SLICES);
  const free = taken.flatMap((is, slice) => (is ? [] : [slice]));
  placeless.forEach((one, index) => {
    const from = Math.floor((index * free.length) / placeless.length);
    const to = Math.max(from + 1, Math.floor(((index + 1) * free.length) / placeless.length));
    const slice = free[from];
    if (slice !== undefined) {
      stripes.push(...instanceStripes(gpu, one, slice / slices, (to - from) / slices));
    }
  });
  if (placeless.length === 0) {
    for (const slice of free) {
      stripes.push({ x: slice / slices, width: 1 / slices, kind: "free-place", fill: 1 });
    }
  }
  return stripes;
}

function sharedStripes(gpu: GpuModel): Stripe[] {
  const total = gpu.total;
  if (!total || gpu.used === undefined) return [{ x: 0, width: 1, kind: "unknown", fill: 1 }];
  const parts: { kind: Stripe["kind"]; size: number }[] = podsOf(gpu).map((pod) => ({
    kind: pod.containers[0]!.mechanism,
    size: used(pod.containers) ?? 0,
  }));
  const memory = gpu.gpu.memory;
  if (memory) {
    parts.push({ kind: "host", size: memory.hostProcesses });
    parts.push({ kind: "unknown", size: memory.unknown + memory.unattributed });
    parts.push({ kind: "reserved", size: memory.reserved });
  } else {
    const known = parts.reduce((all, part) => all + part.size, 0);
    parts.push({ kind: "unknown", size: Math.max(0, gpu.used - known) });
  }
  let x = 0;
  return parts.map(({ kind, size }) => {
    const width = Math.max(0, Math.min(size / total, 1 - x));
    const stripe: Stripe = { x, width, kind, fill: 1 };
    x += width;
    return stripe;
  });
}

export function stripesOf(gpu: GpuModel): Stripe[] {
  return gpu.gpu.mig ? migStripes(gpu) : sharedStripes(gpu);
}

export function picture(gpu: GpuModel, width: number, height: number): SVGSVGElement {
  const root = svg("svg", {
    class: "gpu-picture",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "aria-hidden": "true",
    focusable: "false",
  });
  root.append(svg("rect", { class: "gpu-ground", width, height, rx: 2 }));
  for (const stripe of stripesOf(gpu)) {
    const x = stripe.x * width;
    // A line of ground is left between two Pods.
    const w = stripe.width * width - 1;
    if (stripe.width <= 0) continue;
    const inner = stripe.fill * height;
    root.append(
      svg("rect", {
        class: `stripe ${stripe.kind}`,
        x: x.toFixed(2),
        y: (height - inner).toFixed(2),
        width: Math.max(w, 0.75).toFixed(2),
        height: inner.toFixed(2),
      }),
    );
  }
  root.append(
    svg("rect", { class: "gpu-frame", x: 0.5, y: 0.5, width: width - 1, height: height - 1, rx: 2 }),
  );
  return root;
}

/** The patterns that the stripes' classes refer to, once a page. */
export function patterns(): SVGSVGElement {
  const pattern = (id: string, size: number, ...marks: SVGElement[]): SVGPatternElement =>
    svg(
      "pattern",
      { id: `fill-${id}`, width: size, height: size, patternUnits: "userSpaceOnUse" },
      svg("rect", { class: `base ${id}`, width: size, height: size }),
      ...marks,
    );
  const line = (d: string): SVGElement => svg("path", { class: "mark", d });
  return svg(
    "svg",
    { class: "patterns", width: 0, height: 0, "aria-hidden": "true" },
    svg(
      "defs",
      {},
      pattern("exclusive", 8),
      pattern("mig", 6, line("M3 0V6")),
      pattern("time-slicing", 6, line("M-1 7L7 -1M-1 1L1 -1M5 7L7 5")),
      pattern("mps", 6, svg("circle", { class: "dot", cx: 3, cy: 3, r: 1.2 })),
      pattern("share", 6, line("M0 3H6")),
      pattern("none", 6, line("M3 0V6M0 3H6")),
      pattern("host", 4, line("M0 0L4 4M0 4L4 0")),
      pattern("unknown", 8, line("M-1 1L1 -1M-1 9L9 -1M7 9L9 7")),
    ),
  );
}
