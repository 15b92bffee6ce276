// Addresses within the page: "#/pod/NAMESPACE/NAME", "#/map?q=WORDS&sort=ORDER".

export interface Route {
  name: string; // "map", "pods", "free", "waiting", "pod", "node"
  parts: string[];
  query: URLSearchParams;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const [name = "", ...parts] = path.split("/");
  return { name: name || "map", parts: parts.map(decoded), query: new URLSearchParams(query) };
}

const link = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export const podLink = (ns: string, pod: string): string => link("pod", ns, pod);
export const nodeLink = (node: string): string => link("node", node);
export const gpuLink = (node: string, uuid: string): string => link("node", node, uuid);

// What differs from the order that the view has by itself stands in the address.
function listLink(name: string, query: string, sort: string, usual: string): string {
  const words = new URLSearchParams();
  if (query !== "") words.set("q", query);
  if (sort !== usual) words.set("sort", sort);
  const text = words.toString();
  return text === "" ? `#/${name}` : `#/${name}?${text}`;
}
export const mapLink = (query: string, sort: string): string => listLink("map", query, sort, "name");
export const podsLink = (query: string, sort: string): string => listLink("pods", query, sort, "limit");
