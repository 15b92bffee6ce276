// Light, dark, or as the system is.

const KEY = "tranche-theme";
const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

// A browser may refuse storage, to a file above all.
function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function theme(): Theme {
  return THEMES.find((one) => one === document.documentElement.dataset.theme) ?? "auto";
}

export function setTheme(wanted: Theme): void {
  if (wanted === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
  try {
    localStorage.setItem(KEY, wanted);
  } catch {
    // It holds until the page is closed.
  }
}

export const nextTheme = (): Theme => THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]!;

export function restoreTheme(): void {
  const found = THEMES.find((one) => one === stored());
  if (found) setTheme(found);
}
