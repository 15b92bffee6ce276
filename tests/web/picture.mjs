// The picture of docs/web.md. Usage: node picture.mjs FILES FLEET.json OUT.png (fleets.py picture; NODE_MODULES and
// CHROMIUM as test_page.py sets them)

import { readFileSync } from "node:fs";
import { launch, open, serve } from "./browser.mjs";

const [files, fleet, out] = process.argv.slice(2);
const site = await serve(files);
const body = readFileSync(fleet, "utf8");
site.answer = () => ({ body });
const browser = await launch();
const page = await open(browser, { viewport: { width: 1000, height: 520 } });
await page.clock.setFixedTime(new Date(JSON.parse(body).takenAt));
await page.goto(site.base);
await page.hover(".gpu >> nth=1");
await page.waitForSelector(".tip:visible");
await page.screenshot({ path: out });
await browser.close();
site.close();
