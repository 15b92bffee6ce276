// In which order the map shows nodes.

import type { NodeModel } from "../model";

// Of the GPUs whose memory is known; -1: of none it is.
function usedPart(node: NodeModel): number {
  let total = 0;
  let used = 0;
  for (const gpu of node.gpus) {
    if (gpu.total === undefined || gpu.used === undefined) continue;
    total += gpu.total;
    used += gpu.used;
  }
  return total === 0 ? -1 : used / total;
}

const REPORTING = { silent: 0, stale: 1, fresh: 2 };

// Larger comes first. Equal ones stay in the order of their names.
const FIRST: Record<string, (node: NodeModel) => number> = {
  fullest: usedPart,
  emptiest: (node) => {
    const part = usedPart(node);
    return part < 0 ? -2 : -part;
  },
  busiest: (node) => node.containers,
  trouble: ({ node }) =>
    (2 - REPORTING[node.reporting]) * 2 +
    (node.closed !== "" ? 1 : 0) +
    (node.checks.some((check) => !check.works) ? 1 : 0),
};

export const ORDERS: Record<string, string> = {
  name: "name",
  fullest: "most memory used",
  emptiest: "least memory used",
  busiest: "most containers",
  trouble: "trouble first",
};

export function ordered<T extends { node: NodeModel }>(nodes: T[], order: string): T[] {
  const first = Object.hasOwn(FIRST, order) ? FIRST[order] : undefined;
  if (!first) return nodes;
  return nodes
    .map((one) => ({ one, rank: first(one.node) }))
    .sort((a, b) => b.rank - a.rank)
    .map(({ one }) => one);
}
