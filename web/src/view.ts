// What a view is: made once when its address is opened, shown again with each new model.

import type { History } from "./history";
import type { Model } from "./model";

export interface Context {
  history: History;
  saved: boolean; // a report: nothing changes any more
}

export interface View {
  title: string;
  show(model: Model): void;
  /** The window has another size, or the colours are others. */
  refit?(): void;
  close?(): void;
}
