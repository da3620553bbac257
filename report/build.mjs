// Bundles this folder and uPlot into pages without any address in them, at build time: so the chart library is no
// dependency of the package (uPlot unpacks to 0.6 MB, of which a page needs 50 kB).

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The policy of a page that comes as a file; the inspector's server sends a stricter one. */
const POLICY = /<meta http-equiv="Content-Security-Policy".*\n/;
const template = await readFile(here("page.html"), "utf8");

/** The script of each page, the page around it, and its destination. */
const PAGES = [
  ["main.mjs", template, "../lib/cli/report/page.html"],
  ["inspector.mjs", template.replace(POLICY, ""), "../lib/inspector/page.html"],
];

const licence = await readFile(here("../node_modules/uplot/LICENSE"), "utf8");

for (const [entry, around, page] of PAGES) {
  const {
    outputFiles: [script],
  } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    format: "iife",
    target: "es2022",
    loader: { ".css": "text" },
    banner: { js: `/* with uPlot:\n${licence} */` },
  });
  const html = around.replace('"{{script}}"', () => script.text.replaceAll("</script", "<\\/script"));
  await writeFile(here(page), html);
  console.log(`${page.slice(3)}: ${Math.round(html.length / 1024)} kB`);
}
