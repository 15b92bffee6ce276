// A headless Chromium, and a server of the page with the headers that the controller's has. NODE_MODULES is where
// playwright-core lies, CHROMIUM the browser's program.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.NODE_MODULES, "x.js"))("playwright-core");

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const FILES = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/app.css": ["app.css", "text/css; charset=utf-8"],
  "/favicon.svg": ["favicon.svg", "image/svg+xml"],
};

/** `site.answer` says what GET /v1/fleet answers: {status, body, headers}; it is given the request. */
export async function serve(folder) {
  const site = { answer: () => ({ status: 503 }), asked: [], base: "" };
  const server = createServer((request, response) => {
    // As behind the API server's proxy, if the test asks below a folder.
    const path = request.url.replace(/^\/api\/.*\/proxy\//, "/");
    if (path === "/v1/fleet") {
      site.asked.push(request);
      const { status = 200, body = "", headers = {} } = site.answer(request);
      response.writeHead(status, {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        ...headers,
      });
      return response.end(body);
    }
    const file = FILES[path];
    if (!file) return response.writeHead(404).end();
    response.writeHead(200, {
      "Content-Type": file[1],
      "Content-Security-Policy": POLICY,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
    });
    response.end(readFileSync(join(folder, file[0])));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  site.base = `http://127.0.0.1:${server.address().port}/`;
  site.close = () => server.close();
  return site;
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM,
    // Tests run as root, where Chromium's sandbox cannot; /dev/shm may be small.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    timeout: 120_000,
  });
}

/** A page that keeps what went wrong in it: errors, and requests to elsewhere. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.wrong = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      page.wrong.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.wrong.push(String(error)));
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|file:|data:)/.test(request.url()))
      page.wrong.push(`asked ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    page.wrong.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return page;
}
