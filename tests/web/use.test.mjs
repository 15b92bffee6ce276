// How people use the page: tokens, the keyboard, filters, and a controller that fails.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, open, serve } from "./browser.mjs";

const files = join(process.env.FILES, "small");
const fleet = JSON.parse(readFileSync(join(files, "fleet.json"), "utf8"));
const body = JSON.stringify(fleet);
let browser, site;

before(async () => {
  browser = await launch();
  site = await serve(files);
});
after(async () => {
  await browser?.close();
  site?.close();
});

const good = (request) => (request.headers.authorization === "Bearer good" ? { body } : { status: 401 });

async function opened(t, path = "", options = {}) {
  const page = await open(browser, options);
  t.after(() => page.context().close());
  await page.goto(site.base + path);
  return page;
}

// What Chromium itself says of an answer that is no 200.
const ours = (page) => page.wrong.filter((line) => !line.includes("Failed to load resource"));

test("a token is asked for, kept in this tab alone, and forgotten", async (t) => {
  site.answer = good;
  const page = await opened(t);
  await page.fill("#token", "bad");
  await page.keyboard.press("Enter");
  await page.waitForSelector('[role="alert"]:has-text("refused")');
  await page.fill("#token", " Bearer good ");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".gpu");
  assert.equal(
    await page.evaluate(() => JSON.stringify([localStorage, document.cookie]).includes("good")),
    false,
  );
  assert.equal(page.url().includes("good"), false);
  await page.reload();
  await page.waitForSelector(".gpu");
  await page.click("text=Forget the token");
  await page.waitForSelector("#token");
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  assert.equal(await page.locator(".gpu").count(), 0);
  await page.fill("#token", "b\u00e4d");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.querySelector("#token").validity.customError), true);
  assert.deepEqual(ours(page), []);
});

test("a form that somebody fills in stays when the page is looked at again", async (t) => {
  site.answer = (request) => (request.headers.authorization ? { status: 403 } : { status: 401 });
  const page = await opened(t);
  await page.fill("#token", "half");
  const asked = site.asked.length;
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  assert.equal(await page.inputValue("#token"), "half");
  assert.equal(site.asked.length, asked);
  await page.keyboard.press("Enter");
  await page.waitForSelector('[role="alert"]:has-text("may not see the fleet")');
});

test("an answer to a token that was forgotten meanwhile is not shown", async (t) => {
  let held;
  site.answer = good;
  const page = await opened(t);
  await page.fill("#token", "good");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".gpu");
  await page.route("**/v1/fleet", (route) => (held = route));
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  while (!held) await page.waitForTimeout(20);
  await page.click("text=Forget the token");
  await held.fulfill({ body }).catch(() => {}); // the page may have ended the request
  await page.waitForSelector("#token");
  assert.equal(await page.locator(".gpu").count(), 0);
});

test("behind the API server's proxy the token travels in a header of its own", async (t) => {
  site.answer = (request) => (request.headers["x-tranche-token"] === "good" ? { body } : { status: 401 });
  const page = await opened(t, "api/v1/namespaces/tranche/services/web:9401/proxy/");
  await page.fill("#token", "good");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".gpu");
  assert.equal(site.asked.at(-1).headers.authorization, undefined);
});

test("a controller that fails leaves the last figures, with their time", async (t) => {
  site.answer = () => ({ body });
  const page = await open(browser);
  t.after(() => page.context().close());
  await page.clock.install();
  await page.goto(site.base);
  await page.waitForSelector(".gpu");
  const troubles = [
    [{ status: 503 }, /API server/],
    [{ status: 429, headers: { "Retry-After": "7" } }, /too often/],
    [{ status: 500 }, /answered 500/],
    [{ body: body.slice(0, 999) }, /torn/],
    [{ body: '{"version":"fleet/v2"}' }, /fleet\/v2/],
    [{ body: "[]" }, /no fleet\/v1/],
  ];
  for (const [answer, words] of troubles) {
    site.answer = () => answer;
    await page.clock.fastForward(8000);
    await page.waitForFunction(
      (source) => new RegExp(source).test(document.querySelector(".trouble").textContent),
      words.source,
    );
    assert.match(await page.textContent(".trouble"), /What is shown is from/);
    assert.ok((await page.locator(".gpu").count()) > 0);
  }
  site.answer = () => ({ body });
  await page.clock.fastForward(8000);
  await page.waitForSelector(".trouble", { state: "hidden" });
  assert.deepEqual(ours(page), []);
});

test("fields of a wrong kind count as unknown, and words of a later version are shown", async (t) => {
  const torn = structuredClone(fleet);
  torn.waiting[0].cause = "a-later-cause";
  torn.waiting[1].cause = "constructor";
  torn.nodes[0].usage.checks = [{ name: "constructor" }];
  torn.nodes[0].usage.containers[0].memoryUsed = "2 GiB";
  torn.nodes[0].usage.gpus[0].memory = 7;
  torn.nodes[0].usage.gpus.push(null);
  torn.nodes[1].usage = null;
  torn.capacity = {};
  site.answer = () => ({ body: JSON.stringify(torn) });
  const page = await opened(t, "#/waiting");
  await page.waitForSelector('[data-cause="a-later-cause"]:has-text("a-later-cause")');
  for (const hash of [
    "#/map",
    "#/pods",
    "#/free",
    "#/pods?sort=constructor",
    "#/map?sort=constructor",
    "#/node/gpu-a",
    "#/node/gpu-b",
    "#/pod/team-a/train-0",
  ]) {
    await page.goto(site.base + hash);
    await page.waitForSelector(".view");
  }
  assert.equal(
    await page.getAttribute('[data-container="main"] [data-field="memoryUsed"]', "data-value"),
    "unknown",
  );
  assert.deepEqual(page.wrong, []);
});

test("a Pod's history grows while the page is open, with gaps where it is unknown", async (t) => {
  const now = structuredClone(fleet);
  const one = now.nodes[0].usage.containers[0];
  let asked = 0;
  site.answer = () => {
    const at = new Date(Date.parse(fleet.takenAt) + asked++ * 5000).toISOString();
    now.takenAt = now.nodes[0].usage.takenAt = at;
    if (asked === 3) delete one.memoryUsed;
    else one.memoryUsed = asked * 2 ** 30;
    return { body: JSON.stringify(now) };
  };
  const page = await open(browser);
  t.after(() => page.context().close());
  await page.clock.install();
  await page.goto(`${site.base}#/pod/team-a/train-0`);
  await page.waitForSelector(".view");
  assert.equal(await page.locator(".charts canvas").count(), 0);
  for (let round = 2; round <= 4; round++) {
    await page.clock.fastForward(5000);
    const words = round === 3 ? "used unknown" : `used ${round} GiB`;
    await page.waitForSelector(`[role="img"][aria-label="Memory used: ${words}"] canvas`);
  }
  assert.deepEqual(page.wrong, []);
});

test("the map by keyboard alone", async (t) => {
  site.answer = () => ({ body });
  const page = await opened(t);
  await page.waitForSelector(".gpu");
  const at = () => page.evaluate(() => document.activeElement.dataset.key ?? document.activeElement.id);
  await page.keyboard.press("Tab");
  assert.equal(await at(), "skip");
  await page.focus("#sort");
  await page.keyboard.press("Tab");
  assert.equal(await at(), "node:gpu-a");
  const keys = {
    ArrowRight: "gpu:gpu-a:GPU-t4",
    ArrowLeft: "node:gpu-a",
    End: "node:empty",
    Home: "node:gpu-a",
  };
  for (const [key, place] of Object.entries(keys)) {
    await page.keyboard.press(key);
    assert.equal(await at(), place, key);
  }
  await page.keyboard.press("ArrowRight");
  assert.match(await page.textContent(".tip:visible"), /team-a\/train-0/);
  await page.keyboard.press("Escape");
  assert.equal(await page.isVisible(".tip"), false);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none");
  await page.keyboard.press("Tab");
  assert.notEqual((await at()).slice(0, 4), "gpu:", "the map is one stop");
  await page.focus('[data-key="gpu:gpu-a:GPU-t4"]');
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1:has-text('Node gpu-a')");
  assert.equal(await at(), "main");
});

test("the focus stays where it is when new figures come", async (t) => {
  site.answer = () => ({ body });
  const page = await open(browser);
  t.after(() => page.context().close());
  await page.clock.install();
  await page.goto(site.base);
  await page.waitForSelector(".gpu");
  for (const [hash, key] of [
    ["#/map", "gpu:gpu-a:GPU-t4"],
    ["#/waiting", "pod:team-a/wait-taint"],
  ]) {
    await page.goto(site.base + hash);
    await page.waitForSelector(`[data-key="${key}"]`);
    await page.focus(`[data-key="${key}"]`);
    const asked = site.asked.length;
    await page.evaluate(() => document.activeElement.setAttribute("data-old", ""));
    await page.clock.fastForward(5000);
    await page.waitForFunction(() => !document.querySelector("[data-old]"));
    assert.ok(site.asked.length > asked);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.key), key);
  }
});

test("filter and order, also from the address", async (t) => {
  site.answer = () => ({ body });
  const page = await opened(t, "#/map?q=pod%3Aserve&sort=fullest");
  const shown = () => page.$$eval(".card-head a", (all) => all.map((one) => one.textContent));
  await page.waitForSelector(".gpu");
  assert.deepEqual(await shown(), ["gpu-c"]);
  for (const [query, nodes] of [
    ["is:silent", ["gpu-d", "empty"]],
    ["is:closed", ["gpu-c"]],
    ["mechanism:mig", ["gpu-b"]],
    ["a30", ["gpu-d"]],
    ["ns:team-b", ["gpu-a"]],
    ["h100 exclusive", ["gpu-b"]],
    ["nothing-has-it", []],
  ]) {
    await page.fill("#filter", query);
    assert.deepEqual(await shown(), nodes, query);
  }
  assert.match(await page.textContent(".count"), /nothing fits/);
  await page.fill("#filter", "");
  assert.deepEqual((await shown()).slice(0, 2), ["gpu-a", "gpu-b"]);
  await page.selectOption("#sort", "trouble");
  assert.deepEqual((await shown()).slice(0, 2), ["gpu-d", "empty"]);
  assert.ok(page.url().endsWith("#/map?sort=trouble"));
});
