// A headless Chromium for the tests of pages. Where there is none the tests that need it are skipped, and say so.

import { existsSync } from "node:fs";
import { test } from "node:test";
import { chromium } from "playwright-core";

const PATHS = [
  process.env.CHROMIUM_PATH,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = PATHS.find((path) => path !== undefined && existsSync(path));

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const skip = executablePath === undefined && "no Chromium here: install one, or name it in CHROMIUM_PATH";

/**
 * A test with a page of its own. Whatever the page logs as an error, throws or asks the network for fails the test;
 * `mayAsk` says which addresses it may ask.
 */
export function pageTest(name, { mayAsk = /^(file|data):/, ...options }, run) {
  test(name, { skip }, async (t) => {
    const browser = await chromium.launch({ executablePath, args: FLAGS });
    try {
      const page = await browser.newPage(options);
      const faults = [];
      page.on("console", (entry) => entry.type() === "error" && faults.push(entry.text()));
      page.on("pageerror", (error) => faults.push(error.message));
      page.on("request", (request) => {
        if (!mayAsk.test(request.url())) faults.push(`asked for ${request.url()}`);
      });
      await run(page, t);
      if (faults.length > 0) throw new Error(faults.join("\n"));
    } finally {
      await browser.close();
    }
  });
}
