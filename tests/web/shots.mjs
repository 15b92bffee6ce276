// Pictures of every view, in both widths and colours, to be looked at. Usage: node shots.mjs FILES FLEET.json OUT

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launch, open, serve } from "./browser.mjs";

const [files, fleet, out] = process.argv.slice(2);
const VIEWS = {
  map: "#/map",
  pods: "#/pods",
  free: "#/free",
  waiting: "#/waiting",
  pod: "#/pod/team-a/train-0",
  "node-a": "#/node/gpu-a",
  "node-b": "#/node/gpu-b",
  "node-e": "#/node/gpu-e",
};

const site = await serve(files);
const body = readFileSync(fleet, "utf8");
const browser = await launch();
for (const scheme of ["light", "dark"]) {
  for (const width of [360, 1920]) {
    const page = await open(browser, { viewport: { width, height: 900 }, colorScheme: scheme });
    site.answer = () => ({ status: 401 });
    await page.goto(site.base);
    await page.waitForSelector("#token");
    await page.screenshot({ path: join(out, `login-${width}-${scheme}.png`) });
    site.answer = () => ({ body });
    for (const [name, hash] of Object.entries(VIEWS)) {
      await page.goto(site.base + hash);
      await page.reload();
      await page.waitForSelector(".view");
      await page.screenshot({ path: join(out, `${name}-${width}-${scheme}.png`), fullPage: true });
    }
    console.log(scheme, width, page.wrong);
    await page.context().close();
  }
}
await browser.close();
site.close();
