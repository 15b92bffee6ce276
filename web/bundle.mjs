// Makes the files that the controller serves, and the report's template, of the sources beside this file.
// Usage: node web/bundle.mjs NODE_MODULES OUT
//
// OUT gets index.html, app.js, app.css, favicon.svg and report.html. report.html is index.html with script and style
// inside: its Content-Security-Policy allows these two alone, by their digests.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [modules, out] = process.argv.slice(2);
if (!modules || !out) {
  console.error("usage: node web/bundle.mjs NODE_MODULES OUT");
  process.exit(2);
}

const esbuild = createRequire(join(modules, "x.js"))("esbuild");

// The licence asks for its text beside each copy.
const licence = readFileSync(join(modules, "uplot", "LICENSE"), "utf8").trim();
if (/\*\/|</.test(licence)) throw new Error("uPlot's licence fits in no comment");

const built = await esbuild.build({
  entryPoints: { app: join(here, "src", "main.ts") },
  outdir: out,
  bundle: true,
  minify: true,
  write: false,
  nodePaths: [modules],
  target: ["es2022"],
  // No end tag may stand in what is put inline.
  supported: { "inline-script": false, "inline-style": false },
  format: "iife",
  charset: "ascii",
  banner: { js: `/*! uPlot\n${licence}\n*/` },
  logLevel: "warning",
});

const text = (name) => built.outputFiles.find((file) => file.path.endsWith(name)).text;
const digest = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;

const script = text("app.js");
const style = text("app.css");
const index = readFileSync(join(here, "index.html"), "utf8");
const icon = readFileSync(join(here, "favicon.svg"));

function replaced(html, from, to) {
  if (html.split(from).length !== 2) throw new Error(`index.html has not once: ${from}`);
  return html.replace(from, () => to);
}

const policy =
  `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; img-src data:; ` +
  `base-uri 'none'; form-action 'none'`;
let report = index;
report = replaced(
  report,
  `<meta charset="utf-8">`,
  `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`,
);
report = replaced(
  report,
  `href="favicon.svg"`,
  `href="data:image/svg+xml;base64,${icon.toString("base64")}"`,
);
report = replaced(report, `<link rel="stylesheet" href="app.css">`, `<style>${style}</style>`);
// src/programs/web/report.cpp puts the fleet where @FLEET@ stands.
report = replaced(report, `<script src="app.js" defer></script>`, "");
report = replaced(
  report,
  `</body>`,
  `<script type="application/json" id="fleet">@FLEET@</script>\n<script>${script}</script>\n</body>`,
);
if (report.split("@FLEET@").length !== 2) throw new Error("@FLEET@ stands in the sources");

mkdirSync(out, { recursive: true });
for (const [name, content] of [
  ["index.html", index],
  ["app.js", script],
  ["app.css", style],
  ["favicon.svg", icon],
  ["report.html", report],
]) {
  writeFileSync(join(out, name), content);
}
