// How the page looks: widths, colours, what assistive programs are told, and a cluster of 8,000 GPUs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, open, serve } from "./browser.mjs";

const VIEWS = [
  "#/map",
  "#/pods",
  "#/free",
  "#/waiting",
  "#/pod/team-a/train-0",
  "#/pod/evil/%3C%2Fscript%3E",
  "#/node/gpu-a",
  "#/node/gpu-b",
  "#/node/gpu-d",
  "#/node/gpu-e",
];
let browser, sites;

before(async () => {
  browser = await launch();
  sites = {};
  for (const name of ["small", "big"]) {
    const folder = join(process.env.FILES, name);
    const body = readFileSync(join(folder, "fleet.json"), "utf8");
    sites[name] = await serve(folder);
    sites[name].answer = () => ({ body });
  }
});
after(async () => {
  await browser?.close();
  for (const site of Object.values(sites)) site.close();
});

async function eachView(options, check) {
  const page = await open(browser, options);
  for (const view of VIEWS) {
    await page.goto(sites.small.base + view);
    await page.waitForSelector(".view");
    await check(page, view);
  }
  assert.deepEqual(page.wrong, []);
  await page.context().close();
}

// What reaches beyond the window's right side.
const beyond = (limit) =>
  [...document.querySelectorAll("main *, header *")]
    .filter((one) => !one.closest("svg, thead, .words") && one.getBoundingClientRect().right > limit + 1)
    .map((one) => one.outerHTML.slice(0, 200));

// WCAG's contrast of text and what is behind it.
const contrasts = () => {
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) =>
    [r, g, b]
      .map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")]
    .filter(
      (one) =>
        [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) &&
        !one.closest("noscript, [hidden]"),
    )
    .map((one) => {
      const [a, b] = [light(rgb(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
      return { ratio: (a + 0.05) / (b + 0.05), what: one.outerHTML.slice(0, 120) };
    });
};

// What a screen reader would call nothing.
const nameless = () => {
  const named = (one) => one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.length;
  return [...document.querySelectorAll("a, button, input, select, nav, [role=img]")]
    .filter((one) => !one.hidden && !named(one))
    .map((one) => one.outerHTML);
};

for (const [width, colorScheme, ground] of [
  [360, "dark", "rgb(18, 23, 28)"],
  [1250, "dark", "rgb(18, 23, 28)"],
  [1920, "light", "rgb(255, 255, 255)"],
]) {
  test(`${width} px, ${colorScheme}: nothing is wider, and text can be read`, () =>
    eachView({ viewport: { width, height: 800 }, colorScheme }, async (page, view) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${view}: ${wide}`);
      assert.deepEqual(await page.evaluate(beyond, width), [], view);
      // Nor so narrow that it breaks after each letter.
      const narrow = await page.$$eval(
        "td",
        (all) => all.filter((one) => one.textContent.trim() && one.clientWidth < 30).length,
      );
      assert.equal(narrow, 0, view);
      const faint = (await page.evaluate(contrasts)).filter(({ ratio }) => ratio < 4.5);
      assert.deepEqual(faint, [], view);
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), ground);
    }));
}

test("the switch overrules the system's colours, and is remembered", async () => {
  const page = await open(browser, { colorScheme: "light" });
  await page.goto(sites.small.base);
  await page.waitForSelector(".gpu");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.click("text=Colours: auto");
  await page.click("text=Colours: light");
  assert.equal(await ground(), "rgb(18, 23, 28)");
  await page.reload();
  await page.waitForSelector(".gpu");
  assert.equal(await ground(), "rgb(18, 23, 28)");
});

test("each mechanism has a letter and a pattern beside its colour", async () => {
  const page = await open(browser);
  await page.goto(sites.small.base);
  await page.waitForSelector(".gpu");
  const letters = await page.$$eval(".legend .mechanism b", (all) => all.map((one) => one.textContent));
  assert.equal(new Set(letters).size, 6);
  const patterns = await page.$$eval("pattern", (all) =>
    all.map((one) => one.innerHTML.replace(/base [\w-]+/, "")),
  );
  assert.equal(new Set(patterns).size, patterns.length);
});

test("assistive programs are told what each part is", () =>
  eachView({}, async (page, view) => {
    assert.deepEqual(await page.evaluate(nameless), [], view);
    for (const [selector, count] of [
      ["h1", 1],
      ["main", 1],
      ["body > header", 1],
      ["nav[aria-label]", 1],
      ['svg:not([aria-hidden="true"])', 0],
      ["table:not(:has(caption))", 0],
    ]) {
      assert.equal(await page.locator(selector).count(), count, `${view} ${selector}`);
    }
    assert.match(await page.title(), /Tranche$/);
  }));

test("1,000 nodes of 8 GPUs: only what is near the window is in the document", async () => {
  const page = await open(browser, { viewport: { width: 1920, height: 1000 } });
  await page.goto(sites.big.base);
  await page.waitForSelector(".gpu");
  const shown = await page.evaluate(() => performance.getEntriesByName("tranche-shown")[0].startTime);
  console.log(`8,000 GPUs are shown ${Math.round(shown)} ms after the page was asked for`);
  const size = () => page.evaluate(() => document.querySelectorAll("*").length);
  assert.match(await page.textContent(".count"), /8,000 GPUs on 1,000 nodes/);
  assert.ok((await size()) < 5000);
  // To the last one by keyboard, and back to the first by the picture of all.
  await page.focus("#sort");
  await page.keyboard.press("Tab");
  await page.keyboard.press("End");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "gpu-0999");
  assert.equal(await page.locator("text=gpu-0000").count(), 0);
  assert.ok((await size()) < 5000);
  await page.locator(".overview canvas").evaluate((canvas) => {
    const { left, top } = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new MouseEvent("click", { clientX: left + 2, clientY: top + 2 }));
  });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "gpu-0000");
  const order = await page.$$eval(".card-head a", (all) => all.map((one) => one.textContent));
  assert.deepEqual(order, [...order].sort());
  await page.fill("#filter", "pod:job-500-");
  assert.deepEqual(await page.$$eval(".card-head a", (all) => all.map((one) => one.textContent)), [
    "gpu-0500",
  ]);
  assert.deepEqual(page.wrong, []);
});
