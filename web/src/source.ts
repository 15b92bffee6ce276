// Where fleets come from: the controller, every 5 s, or the element that a report has.

import { readFleet } from "./fleet";
import { type Model, makeModel } from "./model";
import { token } from "./token";

const EVERY = 5_000; // ms
const LATE = 30_000; // ms, then the controller has not answered

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
  403: "This token may not see the fleet.",
  429: "The controller was asked too often; the page asks again more slowly.",
  503: "The controller cannot check tokens now, as it does not reach the API server.",
};

export class Poller {
  private timer: number | undefined;
  private busy = false;

  constructor(private readonly listener: Listener) {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.now();
    });
  }

  /** Asks at once, and from then on every 5 s while somebody looks at the page. */
  now(): void {
    window.clearTimeout(this.timer);
    if (this.busy) return;
    this.busy = true;
    void this.ask().then((pause) => {
      this.busy = false;
      if (pause !== undefined && !document.hidden) {
        this.timer = window.setTimeout(() => this.now(), pause);
      }
    });
  }

  // ms until the next question; undefined: not before a token is there.
  private async ask(): Promise<number | undefined> {
    const sent = token.get() !== "";
    try {
      const answer = await fetch("v1/fleet", {
        headers: headers(),
        cache: "no-store",
        credentials: "same-origin",
        redirect: "error",
        signal: AbortSignal.timeout(LATE),
      });
      if (answer.status === 401) {
        token.forget();
        this.listener.login(sent ? "The controller refused this token. It may have expired." : "");
        return undefined;
      }
      if (!answer.ok) {
        this.listener.trouble(TROUBLES[answer.status] ?? `The controller answered ${answer.status}.`);
        return Math.max(EVERY, 1000 * (Number(answer.headers.get("Retry-After")) || 0));
      }
      this.listener.fleet(makeModel(readFleet(await answer.json())));
    } catch (error) {
      this.listener.trouble(reason(error));
    }
    return EVERY;
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
