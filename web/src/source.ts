// Where fleets come from: the controller, every 5 s, or the element that a report has.

import { readFleet } from "./fleet";
import { type Model, makeModel } from "./model";
import { token } from "./token";

const EVERY = 5_000; // ms
const LATE = 60_000; // ms, then the controller has not answered
const LONGEST = 300_000; // ms between two questions, whatever the controller asks for

export interface Listener {
  fleet(model: Model): void;
  /** It wants a token; `message` is empty where none was sent. */
  login(message: string): void;
  /** No fresh figures, and why. */
  trouble(message: string): void;
}

/** The fleet of a report; undefined: this is no report. Throws as readFleet() does. */
export function savedFleet(): Model | undefined {
  const element = document.getElementById("fleet");
  return element ? makeModel(readFleet(JSON.parse(element.textContent ?? ""))) : undefined;
}

// The API server's proxy takes `Authorization` for itself.
const proxied = (): boolean => /\/proxy\/$/.test(new URL(".", location.href).pathname);

function headers(): Record<string, string> {
  const text = token.get();
  if (text === "") return {};
  return proxied()
    ? { "X-Tranche-Token": text }
    : { Authorization: `Bearer ${text}`, "X-Tranche-Token": text };
}

const TROUBLES: Record<number, string> = {
  429: "The controller was asked too often; the page asks again more slowly.",
  503: "The controller cannot check tokens now, as it does not reach the API server.",
};

const REFUSALS: Record<number, string> = {
  401: "The controller refused this token. It may have expired.",
  403: "This token may not see the fleet.",
};

interface Answer {
  model?: Model;
  refused?: string; // no further question before a token is there
  trouble?: string;
  pause?: number; // ms
}

export class Poller {
  private timer: number | undefined;
  private busy: AbortController | undefined;
  private stopped = false;

  constructor(private readonly listener: Listener) {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && !this.stopped) this.now();
    });
  }

  /** Asks at once, and from then on every 5 s while somebody looks at the page. */
  now(): void {
    window.clearTimeout(this.timer);
    if (this.busy) return;
    this.stopped = false;
    const busy = new AbortController();
    this.busy = busy;
    void ask(busy.signal).then((answer) => {
      if (this.busy === busy) this.tell(answer);
    });
  }

  /** Until now() is called again. What is asked already is not heard. */
  stop(): void {
    this.stopped = true;
    window.clearTimeout(this.timer);
    this.busy?.abort();
    this.busy = undefined;
  }

  private tell({ model, refused, trouble, pause = EVERY }: Answer): void {
    this.busy = undefined;
    if (refused !== undefined) {
      this.stop();
      return this.listener.login(refused);
    }
    if (!document.hidden) this.timer = window.setTimeout(() => this.now(), pause);
    if (trouble !== undefined) this.listener.trouble(trouble);
    if (model) this.listener.fleet(model);
  }
}

// Never throws.
async function ask(stop: AbortSignal): Promise<Answer> {
  const sent = token.get() !== "";
  try {
    const answer = await fetch("v1/fleet", {
      headers: headers(),
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
      signal: AbortSignal.any([stop, AbortSignal.timeout(LATE)]),
    });
    const refused = REFUSALS[answer.status];
    if (refused !== undefined) return { refused: sent ? refused : "" };
    if (answer.ok) return { model: makeModel(readFleet(await answer.json())) };
    const wish = 1000 * (Number(answer.headers.get("Retry-After")) || 0);
    return {
      trouble: TROUBLES[answer.status] ?? `The controller answered ${answer.status}.`,
      pause: Math.min(Math.max(EVERY, wish), LONGEST),
    };
  } catch (error) {
    return { trouble: reason(error) };
  }
}

function reason(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return "The controller does not answer.";
  }
  if (error instanceof SyntaxError) return "The controller's answer is torn.";
  if (error instanceof TypeError) return "The controller cannot be reached.";
  return error instanceof Error ? error.message : String(error);
}
