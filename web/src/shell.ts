// What every view has above it: the ways to the others, how fresh the figures are, light or dark.

import { h, replace } from "./dom";
import { clock, duration, figure } from "./format";
import type { Model } from "./model";
import { nextTheme, setTheme, theme } from "./theme";
import { token } from "./token";

const WAYS: [string, string][] = [
  ["map", "GPUs"],
  ["pods", "Pods"],
  ["free", "Free"],
  ["waiting", "Waiting"],
];

export class Shell {
  private readonly nav = h("nav", { "aria-label": "Views" });
  private readonly state = h("div", { class: "state" });
  private readonly age = h("span", { class: "age" });
  private readonly trouble = h("p", { class: "trouble", role: "alert", hidden: true });
  private readonly themeButton = h("button", {
    type: "button",
    class: "plain",
    click: () => this.switchTheme(),
  });
  private readonly leave = h(
    "button",
    { type: "button", class: "plain", hidden: true, click: () => this.forget() },
    "\u2716 ",
    h("span", { class: "words" }, "Forget the token"),
  );
  private model: Model | undefined;

  constructor(
    head: HTMLElement,
    private readonly saved: boolean,
    private readonly onTheme: () => void,
    private readonly onForget: () => void,
  ) {
    head.append(
      h(
        "div",
        { class: "bar-top" },
        h("span", { class: "brand" }, "Tranche"),
        this.nav,
        h("span", { class: "grow" }),
        this.leave,
        this.themeButton,
      ),
      this.state,
      this.trouble,
    );
    this.tellTheme();
    if (!saved) window.setInterval(() => this.tellAge(), 1000);
  }

  at(view: string): void {
    replace(
      this.nav,
      WAYS.map(([name, words]) =>
        h(
          "a",
          {
            href: `#/${name}`,
            "data-key": `way:${name}`,
            "aria-current": name === view ? "page" : undefined,
          },
          words,
          name === "waiting" &&
            this.model &&
            this.model.fleet.waiting.length > 0 &&
            h("span", { class: "badge" }, figure("waiting", this.model.fleet.waiting.length)),
        ),
      ),
    );
  }

  show(model: Model): void {
    this.model = model;
    this.trouble.hidden = true;
    this.leave.hidden = this.saved || token.get() === "";
    const { fleet, reporting, nodes } = model;
    const missing = nodes.length - reporting;
    replace(
      this.state,
      fleet.cluster !== "" && h("span", { class: "cluster" }, fleet.cluster),
      h(
        "span",
        { class: missing > 0 ? "reporting warn" : "reporting" },
        figure("reporting", reporting),
        " of ",
        figure("nodes", nodes.length),
        ` ${nodes.length === 1 ? "node" : "nodes"} reporting`,
      ),
      this.age,
    );
    this.tellAge();
  }

  tellTrouble(message: string): void {
    this.trouble.textContent = this.model ? `${message} What is shown is ${this.ageWords()}.` : message;
    this.trouble.hidden = false;
  }

  wantsToken(): void {
    this.model = undefined;
    this.state.replaceChildren();
    this.trouble.hidden = true;
    this.leave.hidden = true;
  }

  private ageWords(): string {
    const at = this.model?.fleet.takenAt ?? NaN;
    return Number.isNaN(at) ? "of an unknown time" : `from ${clock(at)}`;
  }

  private tellAge(): void {
    if (!this.model) return;
    const at = this.model.fleet.takenAt;
    if (Number.isNaN(at)) this.age.textContent = "of an unknown time";
    else if (this.saved)
      this.age.textContent = `saved ${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
    else this.age.textContent = `${duration((Date.now() - at) / 1000)} old`;
  }

  private switchTheme(): void {
    setTheme(nextTheme());
    this.tellTheme();
    this.onTheme();
  }

  private tellTheme(): void {
    replace(this.themeButton, "\u25d0 ", h("span", { class: "words" }, `Colours: ${theme()}`));
  }

  private forget(): void {
    token.forget();
    this.onForget();
  }
}

export const pageTitle = (view: string, model: Model | undefined): string =>
  [view, model?.fleet.cluster, "Tranche"].filter(Boolean).join(" · ");
