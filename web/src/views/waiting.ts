// Pods that ask for a GPU and do not run.

import { h, replace } from "../dom";
import type { Waiting } from "../fleet";
import { clock, duration, figure, plural } from "../format";
import { type Model, podName } from "../model";
import { nodeLink, podLink } from "../router";
import { type Column, table } from "../table";
import type { View } from "../view";
import { causeWords } from "../words";

export const wishes = (one: Waiting): string =>
  one.wants.map(({ resource, count }) => `${count} × ${resource}`).join(", ") || "unknown";

export function since(one: Waiting, now: number): HTMLElement {
  if (Number.isNaN(one.since)) return figure("since", undefined);
  const iso = new Date(one.since).toISOString();
  return h(
    "time",
    { datetime: iso, title: `${iso.slice(0, 10)} ${clock(one.since)}`, "data-field": "since" },
    duration((now - one.since) / 1000),
  );
}

export const who = (one: { ns: string; pod: string }): HTMLElement =>
  one.pod === ""
    ? h("span", { class: "unknown", title: "You may not see the names of these Pods." }, "others")
    : h("a", { href: podLink(one.ns, one.pod), "data-key": `pod:${one.ns}/${one.pod}` }, podName(one));

const columns = (now: number): Column<Waiting>[] => [
  { head: "Pod", cell: who },
  { head: "Asks for", cell: (one) => h("span", {}, wishes(one), one.tier !== "" && ` (tier ${one.tier})`) },
  { head: "Waits", number: true, cell: (one) => since(one, now) },
  { head: "Why", cell: (one) => h("span", { "data-cause": one.cause }, causeWords(one.cause)) },
  {
    head: "Node",
    cell: (one) =>
      one.node === ""
        ? "–"
        : h("a", { href: nodeLink(one.node), "data-key": `${one.ns}/${one.pod}@${one.node}` }, one.node),
  },
  { head: "Message", wide: true, cell: (one) => h("span", { class: "message" }, one.message || "–") },
];

function causes(waiting: Waiting[]): HTMLElement {
  const counts = new Map<string, number>();
  for (const { cause } of waiting) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  const rows = [...counts].sort(([, a], [, b]) => b - a);
  return h(
    "ul",
    { class: "causes" },
    rows.map(([cause, count]) =>
      h("li", { "data-cause-count": cause }, h("b", {}, figure("pods", count)), ` ${causeWords(cause)}`),
    ),
  );
}

const MOST = 500; // rows

export class WaitingView implements View {
  readonly title = "Waiting";
  constructor(private readonly root: HTMLElement) {}

  show({ fleet }: Model): void {
    const { waiting } = fleet;
    if (waiting.length === 0) {
      return replace(this.root, h("p", { class: "none" }, "No Pod waits for a GPU."));
    }
    replace(
      this.root,
      causes(waiting),
      table(
        waiting.length > MOST
          ? `The ${MOST} that wait longest, of ${plural(waiting.length, "Pod")}`
          : `${plural(waiting.length, "Pod")}, the oldest first`,
        columns(fleet.takenAt),
        waiting.slice(0, MOST),
        (one) => ({ "data-row": podName(one) }),
      ),
    );
  }
}
