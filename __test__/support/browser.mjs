// A headless Chromium for the tests of pages. Where there is none the tests that need it are skipped, and say so.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { chromium } from "playwright-core";

const PATHS = [
  process.env.CHROMIUM_PATH,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = PATHS.find((path) => path !== undefined && existsSync(path));

/** Beside those that Playwright gives. */
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic"];

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

const resolve = createRequire(import.meta.url).resolve;
/** The narrowest screen that pages are made for, in CSS pixels. */
const NARROW = { width: 400, height: 900 };

/** Checks by axe-core in both themes, and that nothing reaches beyond a narrow screen. */
export async function checkPage(page) {
  await page.evaluate(readFileSync(resolve("axe-core/axe.min.js"), "utf8"));
  for (const theme of ["as found", "the other"]) {
    const { violations, passes } = await page.evaluate(() => window.axe.run());
    assert.ok(passes.length > 5, "the checks ran");
    const found = violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .join(" ")
          .slice(0, 400)}`,
    );
    assert.deepEqual(found, [], theme);
    await page.click("#theme");
  }
  await page.setViewportSize(NARROW);
  const wide = await page.evaluate((most) => {
    const reaches = (each) => each.getBoundingClientRect().right > most && each.checkVisibility();
    return Array.from(document.querySelectorAll("body *"))
      .filter(reaches)
      .slice(0, 5)
      .map((each) => each.outerHTML.slice(0, 120));
  }, NARROW.width);
  const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(scrolled <= NARROW.width, `${scrolled} px wide: ${wide.join("\n")}`);
}
