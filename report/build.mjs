// Bundles this folder and uPlot into one page without any address in it, at build time: so the chart library is no dependency of
// the package (uPlot unpacks to 0.6 MB, of which the page needs 50 kB).

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const PAGE = "lib/inspector/page.html";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

const template = await readFile(here("page.html"), "utf8");
const licence = await readFile(here("../node_modules/uplot/LICENSE"), "utf8");
const { outputFiles } = await build({
  entryPoints: [here("main.mjs")],
  bundle: true,
  minify: true,
  write: false,
  charset: "utf8",
  format: "iife",
  target: "es2022",
  loader: { ".css": "text" },
  banner: { js: `/* with uPlot:\n${licence} */` },
});
const script = outputFiles[0].text.replaceAll("</script", "<\\/script");
const html = template.replace('"{{script}}"', () => script);
await writeFile(here(`../${PAGE}`), html);
console.log(`${PAGE}: ${Math.round(html.length / 1024)} kB`);
