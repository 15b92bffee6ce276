// Starts the page: a source of fleets, the view that the address names, and what stands above it.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { append, h } from "./dom";
import { History } from "./history";
import { loginForm } from "./login";
import { patterns } from "./map/picture";
import type { Model } from "./model";
import { type Route, parseRoute } from "./router";
import { Shell, pageTitle } from "./shell";
import { Poller, savedFleet } from "./source";
import { restoreTheme } from "./theme";
import { token } from "./token";
import type { Context, View } from "./view";
import { FreeView } from "./views/free";
import { MapView } from "./views/map";
import { NodeView } from "./views/node";
import { PodView } from "./views/pod";
import { PodsView } from "./views/pods";
import { WaitingView } from "./views/waiting";

function makeView(root: HTMLElement, route: Route, context: Context): View {
  switch (route.name) {
    case "free":
      return new FreeView(root);
    case "pods":
      return new PodsView(root, route);
    case "waiting":
      return new WaitingView(root);
    case "pod":
      return new PodView(root, route, context);
    case "node":
      return new NodeView(root, route);
    default:
      return new MapView(root, route);
  }
}

class Page {
  private readonly main = document.getElementById("main")!;
  private readonly context: Context;
  private readonly shell: Shell;
  private readonly poller: Poller | undefined;
  private view: View | undefined;
  private model: Model | undefined;

  constructor(saved: boolean) {
    this.context = { history: new History(), saved };
    this.shell = new Shell(
      document.getElementById("head")!,
      saved,
      () => this.view?.refit?.(),
      () => {
        this.poller?.stop();
        this.login("");
      },
    );
    if (!saved) {
      this.poller = new Poller({
        fleet: (model) => this.show(model),
        login: (message) => this.login(message),
        trouble: (message) => this.shell.tellTrouble(message),
      });
    }
    window.addEventListener("hashchange", () => this.open(true));
    window.addEventListener("resize", () => this.view?.refit?.());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.view?.refit?.());
    document.getElementById("skip")!.addEventListener("click", (event) => {
      event.preventDefault(); // the address names a view
      this.main.focus();
    });
    document.body.append(patterns());
  }

  start(): void {
    this.heading("GPUs", h("p", { class: "none" }, "Asking the controller…"));
    this.shell.at(parseRoute(location.hash).name);
    this.poller?.now();
  }

  show(model: Model): void {
    const first = !this.model;
    this.model = model;
    this.context.history.add(model);
    this.shell.show(model);
    this.shell.at(parseRoute(location.hash).name);
    if (first) this.open(false);
    else this.view?.show(model);
    if (first) performance.mark("tranche-shown");
  }

  refuse(message: string): void {
    this.heading("This report cannot be shown", h("p", { class: "warn" }, message));
  }

  private open(moved: boolean): void {
    if (!this.model) return;
    const route = parseRoute(location.hash);
    this.view?.close?.();
    const root = h("div", { class: `view ${route.name}` });
    this.view = makeView(root, route, this.context);
    this.heading(this.view.title, root);
    this.shell.at(route.name);
    if (moved) {
      window.scrollTo(0, 0);
      this.main.focus({ preventScroll: true });
    }
    this.view.show(this.model);
    document.title = pageTitle(this.view.title, this.model);
  }

  private login(message: string): void {
    this.view?.close?.();
    this.view = undefined;
    this.model = undefined;
    token.forget();
    this.shell.wantsToken();
    this.heading(
      "Who are you?",
      loginForm(message, () => this.poller?.now()),
    );
    document.getElementById("token")?.focus();
  }

  private heading(title: string, ...content: HTMLElement[]): void {
    this.main.replaceChildren();
    append(this.main, [h("h1", {}, title), content]);
  }
}

restoreTheme();
let saved: Model | undefined;
let trouble: string | undefined;
try {
  saved = savedFleet();
} catch (error) {
  trouble = error instanceof Error ? error.message : String(error);
}
const page = new Page(saved !== undefined || trouble !== undefined);
if (trouble !== undefined) page.refuse(trouble);
else if (saved) page.show(saved);
else page.start();
