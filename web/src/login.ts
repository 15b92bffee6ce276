// The form for a token.

import { h } from "./dom";
import { token } from "./token";

export function loginForm(message: string, then: () => void): HTMLElement {
  const input = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "token-how",
  });
  return h(
    "form",
    {
      class: "login panel",
      submit: (event: Event) => {
        event.preventDefault();
        const text = input.value.trim().replace(/^Bearer\s+/i, "");
        // What no header can carry is no token.
        if (!/^[\x21-\x7e]+$/.test(text)) {
          input.setCustomValidity("A token has no spaces and no letters beyond ASCII.");
          input.reportValidity();
          return;
        }
        token.set(text);
        then();
      },
    },
    message !== "" && h("p", { class: "warn", role: "alert" }, message),
    h("label", { for: "token" }, "Bearer token"),
    input,
    h("button", { type: "submit" }, "Show"),
    h(
      "p",
      { id: "token-how" },
      "A token of the cluster, such as the one that ",
      h("code", {}, "kubectl create token NAME"),
      " prints. This tab keeps it until it is closed.",
    ),
  );
}
