// In which order the map shows nodes.

import { type NodeModel, sum } from "../model";

const usedPart = (node: NodeModel): number => {
  const total = sum(node.gpus.map((gpu) => gpu.total));
  const used = sum(node.gpus.map((gpu) => gpu.used));
  return total === undefined || used === undefined || total === 0 ? -1 : used / total;
};

const REPORTING = { silent: 0, stale: 1, fresh: 2 };

// Larger comes first. Equal ones stay in the order of their names.
const FIRST: Record<string, ((node: NodeModel) => number) | undefined> = {
  name: undefined,
  fullest: usedPart,
  emptiest: (node) => {
    const part = usedPart(node);
    return part < 0 ? -2 : -part;
  },
  busiest: (node) => node.containers,
  trouble: ({ node }) =>
    (2 - REPORTING[node.reporting]) * 2 + (node.closed !== "" ? 1 : 0) +
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
  const first = FIRST[order];
  if (!first) return nodes;
  return nodes
    .map((one) => ({ one, rank: first(one.node) }))
    .sort((a, b) => b.rank - a.rank)
    .map(({ one }) => one);
}
