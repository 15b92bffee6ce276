// What the page of a real controller shows, as JSON, and pictures of its views. Usage: node page.mjs URL FOLDER, with
// the reader's token in TOKEN, and NODE_MODULES and CHROMIUM as tests/web/browser.py sets them

import { join } from "node:path";
import { launch, open } from "../web/browser.mjs";

const [base, folder] = process.argv.slice(2);
const browser = await launch();
const page = await open(browser);
await page.goto(base);
await page.waitForSelector("#token");
await page.screenshot({ path: join(folder, "login.png") });
await page.fill("#token", process.env.TOKEN);
await page.keyboard.press("Enter");
await page.waitForSelector(".gpu");

const shown = {};
shown.gpus = await page.$$eval(".gpu", (all) =>
  Object.fromEntries(all.map((one) => [one.dataset.gpu, one.dataset.used])),
);
await page.screenshot({ path: join(folder, "map.png") });

// {row: the figure `field` in it, or what `data-` attribute `attribute` of its first such element says}
async function rows(view, selector, attribute) {
  await page.goto(`${base}#/${view}`);
  await page.waitForSelector(`[data-row] ${selector}`);
  await page.screenshot({ path: join(folder, `${view}.png`) });
  return page.$$eval(
    "[data-row]",
    (all, [selector, attribute]) =>
      Object.fromEntries(
        all
          .filter((row) => row.querySelector(selector))
          .map((row) => [row.dataset.row, row.querySelector(selector).dataset[attribute]]),
      ),
    [selector, attribute],
  );
}
shown.pods = await rows("pods", '[data-field="memoryUsed"]', "value");
shown.free = await rows("free", '[data-field="free"]', "value");
shown.waiting = await rows("waiting", "[data-cause]", "cause");
// What Chromium itself says of the 401 before the token.
shown.wrong = page.wrong.filter((line) => !line.includes("Failed to load resource"));
console.log(JSON.stringify(shown));
await browser.close();
