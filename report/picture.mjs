// The picture of the report that the READMEs show: `npm run build:picture` replays the recorded example, opens the page
// in a headless Chromium and writes docs/report.png. Run it when the page or the figures have changed, on a machine with a
// font for Chinese (`apt-get install fonts-noto-cjk`): one button has Chinese on it.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** CSS pixels; the height is that of the page down to the end of its first chart. */
const VIEW = { width: 1180, height: 900 };

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pi-strata-picture-"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  const page = join(folder, "report.html");
  const command = ["bin/cli.mjs", "replay", "--html", page, "--json", "examples/session.jsonl"];
  execFileSync(process.execPath, command, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const view = await browser.newPage({ viewport: VIEW, locale: "en-US", colorScheme: "light" });
  await view.goto(pathToFileURL(page).href);
  const chart = await view.locator(".chart").first().boundingBox();
  const clip = { x: 0, y: 0, width: VIEW.width, height: Math.ceil(chart.y + chart.height) };
  await view.screenshot({ path: join(root, "docs/report.png"), clip });
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
