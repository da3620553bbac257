// Bundles this folder and uPlot into one page without any address in it, at build time: so the chart library is no
// dependency of the package (uPlot unpacks to 0.6 MB, of which the page needs 50 kB).

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

const {
  outputFiles: [script],
} = await build({
  entryPoints: [here("main.mjs")],
  bundle: true,
  minify: true,
  write: false,
  charset: "utf8",
  format: "iife",
  target: "es2022",
  loader: { ".css": "text" },
  banner: { js: "/* with uPlot 1.6, (c) Leon Sorokin, MIT licence */" },
});
const template = await readFile(here("page.html"), "utf8");
const page = template.replace('"{{script}}"', () => script.text.replaceAll("</script", "<\\/script"));
await writeFile(here("../lib/cli/report/page.html"), page);
console.log(`lib/cli/report/page.html: ${Math.round(page.length / 1024)} kB`);
