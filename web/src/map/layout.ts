// Where the map's cards stand: each node a card, in rows of as many as fit. Sizes are pixels, and those of style.css.

import type { GpuModel, NodeModel } from "../model";
import type { Block } from "./virtual";

export const CELL = { width: 72, wide: 112, widest: 150, picture: 26, height: 46, gap: 6 };
const FEW = 24; // nodes, up to which there is room for wide cells
const CARD = { padding: 9, head: 26, note: 20, gap: 12 };

export interface Shown {
  node: NodeModel;
  gpus: GpuModel[];
}

export interface Row extends Block {
  cards: Shown[];
}

export interface Layout {
  columns: number;
  cell: number; // a GPU's width
  rows: Row[];
}

const cellsIn = (width: number): number =>
  Math.max(1, Math.floor((width - 2 * CARD.padding + CELL.gap) / (CELL.width + CELL.gap)));

/** Where there are few GPUs in a line, they are wider. */
function cellWidth(card: number, inLine: number): number {
  const room = (card - 2 * CARD.padding + CELL.gap) / inLine - CELL.gap;
  return Math.max(CELL.width, Math.min(CELL.widest, Math.floor(room)));
}

const widthOf = (cells: number, cell: number): number =>
  2 * CARD.padding + cells * (cell + CELL.gap) - CELL.gap;

/** A line below the name says what is wrong with the node. */
export const noted = ({ node }: NodeModel): boolean =>
  node.reporting !== "fresh" || node.closed !== "" || node.checks.some((check) => !check.works);

export function layOut(shown: Shown[], width: number): Layout {
  const most = shown.reduce((most, one) => Math.max(most, one.gpus.length), 1);
  const wish = widthOf(Math.min(8, Math.max(most, 3)), shown.length > FEW ? CELL.width : CELL.wide);
  const columns = Math.max(1, Math.floor((width + CARD.gap) / (wish + CARD.gap)));
  const card = (width - (columns - 1) * CARD.gap) / columns;
  const cells = cellsIn(card);
  const rows: Row[] = [];
  for (let first = 0; first < shown.length; first += columns) {
    const cards = shown.slice(first, first + columns);
    const heights = cards.map(({ node, gpus }) => {
      const lines = Math.max(1, Math.ceil(gpus.length / cells));
      const note = noted(node) ? CARD.note : 0;
      return CARD.head + note + lines * (CELL.height + CELL.gap) + 2 * CARD.padding;
    });
    rows.push({
      key: cards[0]!.node.node.name,
      height: Math.max(...heights) + CARD.gap,
      cards,
    });
  }
  return { columns, cell: cellWidth(card, Math.min(cells, most)), rows };
}
