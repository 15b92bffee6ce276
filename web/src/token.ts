// The bearer token, kept for this tab alone.

const KEY = "tranche-token";

export const token = {
  get: (): string => sessionStorage.getItem(KEY) ?? "",
  set: (text: string): void => sessionStorage.setItem(KEY, text),
  forget: (): void => sessionStorage.removeItem(KEY),
};
