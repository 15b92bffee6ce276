// Parts of the page that need no browser.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const sources = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "web", "src");
const folder = mkdtempSync(join(tmpdir(), "parts-"));
let page;

before(async () => {
  const esbuild = createRequire(join(process.env.WEB_MODULES, "x.js"))("esbuild");
  const names = ["fleet", "format", "history", "model", "router", "map/filter", "map/layout", "map/picture"];
  await esbuild.build({
    stdin: { contents: names.map((name) => `export * from "./${name}";`).join("\n"), resolveDir: sources },
    bundle: true,
    format: "esm",
    outfile: join(folder, "parts.mjs"),
    logLevel: "warning",
  });
  page = await import(pathToFileURL(join(folder, "parts.mjs")));
});
after(() => rmSync(folder, { recursive: true }));

const MIB = 2 ** 20;

function model(node) {
  return page.makeModel(
    page.readFleet({
      version: "fleet/v1",
      takenAt: "2026-05-04T10:20:30Z",
      nodes: [{ name: "n", reporting: "fresh", usage: { takenAt: "2026-05-04T10:20:30Z", ...node } }],
    }),
  );
}

const stripes = (gpu, containers = []) =>
  page.stripesOf(model({ gpus: [{ uuid: "g", ...gpu }], containers }).nodes[0].gpus[0]);

test("figures as words", () => {
  const cases = [
    [page.bytes(0), "0 MiB"],
    [page.bytes(1), "< 1 MiB"],
    [page.bytes(1023 * MIB), "1023 MiB"],
    [page.bytes(7.25 * 1024 * MIB), "7.3 GiB"],
    [page.bytes(80 * 1024 * MIB), "80 GiB"],
    [page.bytes(141.2 * 1024 * MIB), "141 GiB"],
    [page.percent(0), "0 %"],
    [page.percent(0.0001), "< 0.1 %"],
    [page.percent(0.314), "31 %"],
    [page.percent(0.004), "0.4 %"],
    [page.percent(1), "100 %"],
    [page.duration(-3), "0 s"],
    [page.duration(119), "119 s"],
    [page.duration(600), "10 min"],
    [page.duration(3 * 3600 + 300), "3 h 5 min"],
    [page.duration(52 * 3600), "2 d 4 h"],
  ];
  for (const [shown, expected] of cases) assert.equal(shown, expected);
});

test("addresses of names with any letters lead back to them", () => {
  for (const name of ["a/b", "%", "</script>", "ä?q=1#x", "\u2028", "a b"]) {
    assert.deepEqual(page.parseRoute(page.podLink("ns", name)).parts, ["ns", name]);
  }
  assert.deepEqual(page.parseRoute("#/pod/%/x").parts, ["%", "x"]);
  assert.equal(page.parseRoute("").name, "map");
  assert.equal(page.mapLink("a b", "name"), "#/map?q=a+b");
});

test("memory of a GPU from left to right", () => {
  const memory = {
    total: 100,
    free: 30,
    reserved: 10,
    containers: 40,
    hostProcesses: 5,
    unknown: 7,
    unattributed: 8,
  };
  const pods = ["a", "b"].map((pod) => ({ pod, namespace: "n", gpu: "g", mechanism: "mps", memoryUsed: 20 }));
  assert.deepEqual(
    stripes({ memory }, pods).map(({ kind, x, width }) => [
      kind,
      Math.round(x * 100),
      Math.round(width * 100),
    ]),
    [
      ["mps", 0, 20],
      ["mps", 20, 20],
      ["host", 40, 5],
      ["unknown", 45, 15],
      ["reserved", 60, 10],
    ],
  );
});

test("memory that is more than there is stays within the picture", () => {
  const pods = [{ pod: "a", gpu: "g", mechanism: "mps", memoryUsed: 1e18 }];
  for (const { x, width } of stripes({ memoryTotal: 100, memoryUsed: 50 }, pods)) assert.ok(x + width <= 1);
});

test("of unknown memory nothing is drawn as used or free", () => {
  const kinds = (gpu, containers) => stripes(gpu, containers).map(({ kind }) => kind);
  assert.deepEqual(kinds({ memoryTotal: 100 }), ["unknown"]);
  const dark = [{ pod: "a", gpu: "g", mechanism: "mps" }];
  const known = stripes({ memoryTotal: 100, memoryUsed: 50 }, dark).filter(({ width }) => width > 0);
  assert.deepEqual(known, [{ kind: "unknown", x: 0, width: 0.5, fill: 1 }]);
});

test("a MIG GPU with instances whose places lie beyond it", () => {
  const instances = [
    { uuid: "m", profile: "1g", start: 6, size: 4 },
    { uuid: "l", profile: "1g", start: 4e9, size: 1 },
  ];
  for (const { x, width } of stripes({ mig: true, instances })) assert.ok(x + width <= 1.0001);
  assert.ok(stripes({ mig: true, instances }).length < 40);
});

test("filters", () => {
  const [node] = model({
    gpus: [
      { uuid: "g", model: "NVIDIA H100" },
      { uuid: "h", model: "NVIDIA H100" },
    ],
    containers: [{ namespace: "team", pod: "Train", gpu: "g", mechanism: "time-slicing", tier: "gold" }],
  }).nodes;
  const fits = (query) =>
    page
      .fitting(node, page.parseFilter(query))
      ?.map(({ gpu }) => gpu.uuid)
      .join("") ?? "";
  const cases = {
    "": "gh",
    n: "gh",
    h100: "gh",
    train: "g",
    "pod:TRAIN ns:team": "g",
    "pod:team": "",
    "tier:gold": "g",
    "mechanism:time": "g",
    "is:fresh": "gh",
    "is:stale": "",
    "node:n model:h100": "gh",
    "x:y": "",
    ":": "",
  };
  for (const [query, gpus] of Object.entries(cases)) assert.equal(fits(query), gpus, query);
});

test("history is bounded, and keeps only what is there", () => {
  const history = new page.History();
  const at = (second, pods) =>
    model({
      takenAt: new Date(second * 1000).toISOString(),
      containers: pods.map((pod) => ({ namespace: "n", pod, gpu: "g", memoryUsed: second })),
    });
  for (let second = 1; second <= 1000; second++) history.add(at(second, ["a", "b"]));
  const last = at(1001, ["a"]);
  history.add(last);
  history.add(last);
  const [node] = last.fleet.nodes;
  const series = history.of(node, node.containers[0]);
  assert.equal(series.times.length, 360);
  assert.equal(series.memory.at(-1), 1001);
  assert.equal(series.times.at(-2), 1000);
  assert.equal(history.of(node, at(1, ["b"]).fleet.nodes[0].containers[0]), undefined);
});
