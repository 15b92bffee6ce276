// What the page shows is what fleet/v1 says, in every view, from the controller and from a report.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, open, serve } from "./browser.mjs";

const files = join(process.env.FILES, "small");
const body = readFileSync(join(files, "fleet.json"), "utf8");
const fleet = JSON.parse(body);
let browser, site, page;

before(async () => {
  browser = await launch();
  site = await serve(files);
  site.answer = () => ({ body });
  page = await open(browser);
});
after(async () => {
  await browser?.close();
  site?.close();
});

async function show(hash) {
  await page.goto(site.base + hash);
  await page.waitForSelector(".view");
}

// {field: value as in data-value} of the figures within the first element that fits.
const figures = (selector) =>
  page
    .locator(selector)
    .first()
    .evaluate((element) =>
      Object.fromEntries(
        [...element.querySelectorAll("[data-field]")].map((one) => [one.dataset.field, one.dataset.value]),
      ),
    );

const told = (value) => (value === undefined ? "unknown" : String(value));
const attribute = (name, value) => `[${name}="${CSS(value)}"]`;
const CSS = (text) => text.replace(/["\\]/g, "\\$&");
const containers = fleet.nodes.flatMap((node) => (node.usage.containers ?? []).map((one) => ({ node, one })));

test("map: each GPU with the memory that is used, or unknown", async () => {
  await show("#/map");
  const shown = await page.$$eval(".gpu", (cells) =>
    Object.fromEntries(cells.map((cell) => [cell.dataset.gpu, cell.dataset.used])),
  );
  const expected = Object.fromEntries(
    fleet.nodes
      .flatMap((node) => node.usage.gpus ?? [])
      .map((gpu) => [gpu.uuid, told(gpu.memory ? gpu.memory.total - gpu.memory.free : gpu.memoryUsed)]),
  );
  assert.deepEqual(shown, expected);
  assert.ok(Object.values(expected).includes("unknown"));
});

test("map: M of N nodes, and what is wrong with which", async () => {
  const head = await figures("header");
  assert.equal(head.reporting, String(fleet.nodes.filter((node) => node.reporting === "fresh").length));
  assert.equal(head.nodes, String(fleet.nodes.length));
  const notes = await page.$$eval(".card", (cards) =>
    Object.fromEntries(
      cards.map((card) => [
        card.querySelector("a").textContent,
        card.querySelector(".card-note")?.textContent ?? "",
      ]),
    ),
  );
  assert.deepEqual(notes, {
    "gpu-a": "",
    "gpu-b": "",
    "gpu-c": "Stale: no answer within 5 s · Closed to new Pods: cordoned",
    "gpu-d": "Silent: connection refused",
    "gpu-e": "Fails: host-processes, control-groups, arbiter",
    empty: "Silent: its agent never answered",
  });
});

test("map: MIG instances stand in their places", async () => {
  const stripes = await page.$$eval('.gpu[data-gpu="GPU-mig"] .stripe', (all) => {
    const width = all[0].closest("svg").viewBox.baseVal.width;
    return all.map((one) => [one.classList[1], Math.round((one.x.baseVal.value / width) * 8)]);
  });
  assert.deepEqual(stripes, [
    ["place", 0],
    ["mig", 0],
    ["place", 4],
    ["free-place", 5],
    ["free-place", 6],
    ["free-place", 7],
  ]);
});

test("free: counts by mechanism and by namespace", async () => {
  await show("#/free");
  for (const one of fleet.capacity) {
    const row = await figures(attribute("data-row", `${one.mechanism} ${one.resource} ${one.tier ?? ""}`));
    for (const field of ["advertised", "allocated", "withheld", "free", "pending"]) {
      assert.equal(row[field], String(one[field] ?? 0), `${one.resource} ${field}`);
    }
  }
  for (const one of fleet.namespaces) {
    const row = await figures(
      attribute("data-row", `${one.namespace ?? ""} ${one.resource} ${one.tier ?? ""}`),
    );
    assert.equal(row.allocated, String(one.allocated ?? 0));
    assert.equal(row.pending, String(one.pending ?? 0));
  }
});

test("waiting: the oldest first, with cause and message", async () => {
  await show("#/waiting");
  const rows = await page.$$eval("tbody tr", (all) =>
    all.map((row) => [
      row.dataset.row,
      row.querySelector("[data-cause]").dataset.cause,
      row.querySelector(".message").textContent,
      Date.parse(row.querySelector("time").dateTime),
    ]),
  );
  assert.deepEqual(
    rows,
    fleet.waiting.map((one) => [
      one.pod ? `${one.namespace}/${one.pod}` : "others",
      one.cause,
      one.message ?? "–",
      Date.parse(one.since),
    ]),
  );
  const words = await page.$$eval("[data-cause]", (all) => all.map((one) => one.textContent));
  assert.ok(
    words.every((text) => /^[A-Z].* /.test(text)),
    "each cause in words",
  );
  const counts = await page.$$eval("[data-cause-count] [data-value]", (all) =>
    all.reduce((sum, one) => sum + Number(one.dataset.value), 0),
  );
  assert.equal(counts, fleet.waiting.length);
});

const FIELDS = ["memoryUsed", "memoryPeak", "computeShare", "computePromised", "waitedShare"];

function sameAs({ node, one }, shown, fields) {
  for (const field of fields) assert.equal(shown[field], told(one[field]), `${one.pod} ${field}`);
  const none = node.reporting === "silent" ? "unknown" : "unlimited";
  assert.equal(shown.memoryLimit, one.memoryLimit === undefined ? none : String(one.memoryLimit));
}

test("pods: each container, the closest to its limit first", async () => {
  await show("#/pods");
  const limited = (one) =>
    one.memoryLimit && one.memoryUsed !== undefined ? one.memoryUsed / one.memoryLimit : -1;
  const order = await page.$$eval("tbody tr", (all) => all.map((row) => row.dataset.row));
  const expected = [...containers].sort((a, b) => limited(b.one) - limited(a.one));
  assert.deepEqual(
    order,
    expected.map(({ one }) => `${one.pod ? `${one.namespace}/${one.pod}` : "others"}/${one.container ?? ""}`),
  );
  for (const [index, row] of expected.entries()) {
    sameAs(
      row,
      await figures(`tbody tr:nth-child(${index + 1})`),
      FIELDS.filter((field) => field !== "memoryPeak"),
    );
  }
});

test("pod: what it asked, got, used and waited, by container and device", async () => {
  for (const { node, one } of containers.filter(({ one }) => one.pod)) {
    await show(`#/pod/${encodeURIComponent(one.namespace)}/${encodeURIComponent(one.pod)}`);
    assert.equal(await page.textContent("h1"), `Pod ${one.namespace}/${one.pod}`);
    const panel = `${attribute("data-container", one.container)}${attribute("data-device", one.device)}`;
    const shown = await figures(panel);
    sameAs({ node, one }, shown, [...FIELDS, "processes", "launches", "allocationFailures"]);
    const text = await page.textContent(panel);
    assert.equal(text.includes("is unknown"), !one.attributed && one.pod !== "old", one.pod);
    assert.equal(text.includes("estimated"), one.computeEstimatedNs !== undefined);
  }
});

test("pod: one that uses a GPU which nobody gave it", async () => {
  await show("#/pod/team-c/stranger");
  const text = await page.textContent("main");
  assert.match(text, /Asked fornothingGotnothing/);
  assert.match(text, /!no grant|! no grant/);
  await show("#/map");
  assert.equal(await page.locator('.gpu[data-gpu="GPU-t4"] .stripe.none').count(), 1);
  assert.match(await page.textContent('.gpu[data-gpu="GPU-t4"] .letters'), /^T!×/);
  assert.match(await page.textContent(".legend"), /! no grant/);
});

test("pod: one that waits, and one that is not there", async () => {
  await show("#/pod/team-a/wait-topology");
  const text = await page.textContent("main");
  assert.ok(text.includes("Kubelet's topology manager rejected it") && text.includes("8 × nvidia.com/gpu"));
  await show("#/pod/team-a/nobody");
  assert.match(await page.textContent("main"), /No such Pod/);
});

test("node: the account of each GPU's memory, and what its agent cannot see", async () => {
  for (const node of fleet.nodes) {
    await show(`#/node/${node.name}`);
    for (const gpu of node.usage.gpus ?? []) {
      const shown = await page
        .locator(attribute("data-gpu", gpu.uuid))
        .evaluate((panel) =>
          Object.fromEntries(
            [...panel.querySelectorAll("dl [data-field], .note [data-field]")].map((one) => [
              one.dataset.field,
              one.dataset.value,
            ]),
          ),
        );
      if (!gpu.memory) {
        assert.equal(shown.memoryUsed, told(gpu.memoryUsed));
        assert.equal(shown.free, undefined);
      }
      for (const field of ["free", "reserved", "containers", "hostProcesses", "unattributed"]) {
        if (gpu.memory?.[field] > 0) assert.equal(shown[field], String(gpu.memory[field]), field);
      }
      for (const field of ["temperatureC", "powerW"]) assert.equal(shown[field], told(gpu[field]));
      if (!gpu.mig) assert.equal(shown.utilization, told(gpu.utilization));
    }
    const broken = (node.usage.checks ?? []).filter((check) => !check.works).map((check) => check.name);
    assert.deepEqual(await page.$$eval("[data-check]", (all) => all.map((one) => one.dataset.check)), broken);
  }
});

test("a report says the same, asks nothing, and saves nothing but the fleet", async () => {
  const report = await open(browser, { locale: "en-US" });
  const asked = [];
  report.on("request", (request) => asked.push(request.url()));
  const address = `file://${join(files, "report.html")}`;
  for (const hash of ["#/map", "#/pods", "#/free", "#/waiting", "#/node/gpu-b", "#/pod/team-a/train-0"]) {
    await show(hash);
    await report.goto(address + hash);
    await report.waitForSelector(".view");
    assert.equal(await report.locator("main").innerHTML(), await page.locator("main").innerHTML(), hash);
  }
  assert.match(await report.textContent("header"), /saved 2026-05-04 10:20 UTC/);
  assert.ok(
    asked.every((url) => url.startsWith("file:") || url.startsWith("data:")),
    asked.join(),
  );
  assert.deepEqual(report.wrong, []);
});

test("nothing went wrong in the page meanwhile, whatever Pods were called", async () => {
  await show("#/map");
  await page.focus('.gpu[data-gpu="GPU-share"]');
  assert.match(await page.textContent(".tip"), /<img src=x onerror=alert\(1\)>/);
  assert.equal(await page.locator("main img, .tip img, main script").count(), 0);
  assert.deepEqual(page.wrong, []);
});
