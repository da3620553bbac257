// The report: its figures against the measure, and its page in a real browser, as a reader uses it.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { readLines } from "../lib/cli/recording/lines.mjs";
import { POLICIES, reportHtml } from "../lib/cli/report/report.mjs";
import { runOf, settingOf } from "../lib/cli/report/run.mjs";
import contract from "../lib/contract.js";
import { blocksOf } from "../report/blocks.mjs";
import { WORDS } from "../report/words.mjs";
import { checkPage, pageTest } from "./support/browser.mjs";
import { dataOf, fileOf, folder, run as runCli } from "./support/cli.mjs";
import { fieldsOf } from "./support/fields.mjs";
import { answer, result, user } from "./support/messages.mjs";
import { asPiFile, SECRET, sessionWithTools } from "./support/session.mjs";

const CALLS = 40;
const report = join(folder, "report.html");
// Nothing is reported, so sizes are those of the messages.
const session = fileOf(
  "session.jsonl",
  asPiFile(sessionWithTools(CALLS).map((message) => ({ ...message, usage: undefined }))),
);

/** The report of the session as this schedule plays it. */
function write(schedule, file) {
  const options = ["--price", "5", "--schedule", schedule, "--context-window", "8000", "--html", file];
  return runCli(["replay", ...options, "--json", session]);
}

const run = write("everyCall", report);
const { calls } = run.status === 0 ? JSON.parse(run.stdout) : {};
const html = run.status === 0 ? readFileSync(report, "utf8") : "";
const data = run.status === 0 ? dataOf(html) : undefined;

test("dollars per call add up to each policy's total, under both cache models", () => {
  assert.deepEqual([run.stderr, run.status], ["", 0]);
  assert.ok(data.policies.length >= 5);
  for (const { name, series, dollars, calls } of data.policies) {
    for (const model of ["prefix", "breakpoint"]) {
      assert.equal(series[model].length, calls, name);
      const sum = series[model].reduce((total, value) => total + value, 0);
      assert.ok(Math.abs(sum - dollars[model]) < 1e-6 * calls, `${name}, ${model}`);
    }
  }
});

test("no text of the conversation is in the report", () => {
  assert.ok(readFileSync(session, "utf8").includes(SECRET));
  assert.ok(!html.includes(SECRET));
});

test("every change says what was done, over which calls, and why", () => {
  const { calls, changes, messages } = data;
  const perLayer = { summarize: 0, stripThinking: 0, drop: 0 };
  for (const { message, action, from, to, reason } of changes) {
    assert.ok(message < calls[from - 1].at, "only what the call was given can be edited");
    assert.ok(from <= to && to <= calls.length);
    assert.ok(reason.length > 0);
    if (action === "summarize") assert.equal(messages.role[message], "toolResult");
    perLayer[action] = (perLayer[action] ?? 0) + 1;
  }
  for (const [action, count] of Object.entries(perLayer)) assert.ok(count > 0, action);
});

test("every message that a call's plan leaves out is a change", () => {
  for (const [i, { messagesBefore, messagesAfter }] of calls.entries()) {
    const call = i + 1;
    const dropped = data.changes.filter(
      ({ action, from, to }) => action === "drop" && from <= call && call <= to,
    );
    assert.equal(dropped.length, messagesBefore - messagesAfter, `call ${call}`);
  }
  assert.ok(calls.at(-1).messagesBefore - calls.at(-1).messagesAfter > 2);
});

const said = (message) => ({ type: "message", message });
const reads = (count, id) =>
  Array.from({ length: count }, (_, i) => [
    said(answer(`:${id}${i}`)),
    said(result(`${id}${i}`, `a line of ${id}${i}\n`.repeat(80))),
  ]).flat();
const turn = [said(user("go")), ...reads(10, "a")];
const compacts = (kept) => ({ type: "compaction", summary: "S", tokensBefore: 9, ...kept });
const edits = (targetId, replacement) => ({ type: "context_edit", targetId, replacement });
const next = [said(user("next")), ...reads(3, "z"), said(answer("done"))];

/** Sessions of pi's whose past was rewritten. The id of an entry is its index. */
const REWRITTEN = {
  "a compaction that keeps a whole turn with its answer": [
    ...[...turn, said(user("again")), ...reads(3, "b"), said(answer("done"))],
    ...[compacts({ firstKeptEntryId: "21" }), ...next],
  ],
  "a compaction within a turn": [...turn, compacts({ firstKeptEntryId: "17" }), ...reads(3, "b"), ...next],
  "a compaction that keeps what no call had": [
    ...[...turn, said(answer("done")), said(user("unheard")), compacts({ firstKeptEntryId: "22" })],
    ...next,
  ],
  "an edit": [...turn, edits("4", { content: "short" }), ...reads(3, "b"), ...next],
  "a removal": [...turn, said(answer("done")), said(user("oops")), edits("22", null), ...next],
  "a removal before a call": [...turn, said(user("oops")), edits("21", null), ...reads(3, "b"), ...next],
};

/** The session of these entries, and the record of its replay. */
async function replayed(entries, hook) {
  const lines = entries.map((entry, i) => ({ ...entry, id: `${i}`, parentId: i > 0 ? `${i - 1}` : null }));
  const text = [{ type: "session", version: 3 }, ...lines].map((line) => JSON.stringify(line)).join("\n");
  const recording = await readLines([Buffer.from(text)]);
  return { recording, ...(await runOf(recording, settingOf(recording, hook))) };
}

test("a call draws each of its messages once, wherever the host rewrote the past", async () => {
  for (const [what, entries] of Object.entries(REWRITTEN)) {
    const { recording, record } = await replayed(entries, { schedule: "everyCall" });
    for (const { call, tokensBefore } of record.calls) {
      const blocks = blocksOf(record, call);
      const numbers = recording.numbersBefore(recording.calls[call - 1]);
      assert.deepEqual(fieldsOf(blocks, "number"), numbers, what);
      const tokens = blocks.reduce((sum, block) => sum + block.tokens, 0);
      assert.ok(Math.abs(tokens - tokensBefore) < 1e-3, `${what}, call ${call}: ${tokens}`);
      const isNow = ({ from, to }) => from <= call && call <= to;
      const edited = blocks.filter(({ change }) => change !== undefined);
      assert.equal(edited.length, record.changes.filter(isNow).length, `${what}, call ${call}`);
    }
    assert.ok(record.changes.length > 0, what);
  }
});

test("a miss after a pause has its cause by the life of the entry, and by when it was kept warm", async () => {
  const minute = 60_000;
  const at = (entries, timestamp) =>
    entries.map(({ message }) => said({ ...message, timestamp, provider: "anthropic", model: "claude" }));
  const warm = [4, 8].map((minutes) => ({
    ...{ type: "usage", kind: "cache_warm", provider: "anthropic", model: "claude" },
    timestamp: minutes * minute,
  }));
  const everyCall = { schedule: "everyCall" };
  for (const [warmed, hook, cause] of [
    [[], {}, "expired"],
    [warm, {}, undefined],
    [[], everyCall, "expired"],
    [warm, everyCall, "hook"],
    [[], { ...everyCall, cache: { ttlSeconds: 3600 } }, "hook"],
  ]) {
    const { record } = await replayed([...at(turn, 1), ...warmed, ...at(next, 12 * minute)], hook);
    assert.equal(record.calls[10].miss, cause, JSON.stringify([warmed.length, hook]));
  }
});

test("each language has the same words, and Chinese all reasons and policies", () => {
  const { en, zh } = WORDS;
  assert.deepEqual(Object.keys(zh), Object.keys(en));
  for (const name of POLICIES) assert.ok(name in zh.policies, name);
  for (const reason of [...contract.REASONS, ...contract.VERDICTS, ...contract.KEEPS])
    assert.ok(reason in zh.reasons, reason);
});

pageTest("hover, keys and switches work in a browser", { locale: "en-US" }, async (page) => {
  await page.goto(pathToFileURL(report).href);
  assert.equal(await page.title(), "pi-strata: session.jsonl");
  assert.equal(await page.locator("canvas").count(), 3);

  const tip = page.locator(".tip");
  await page.locator(".map canvas").hover({ position: { x: 4, y: 4 } });
  assert.match(await tip.textContent(), /^#1 user, \d+ tokens$/);
  const { message } = data.changes.find(({ action, to }) => action === "drop" && to === data.calls.length);
  await page.locator(".map canvas").focus();
  for (let step = 0; step < message; step += 1) await page.keyboard.press("ArrowRight");
  assert.match(
    await tip.textContent(),
    /left out since call \d+, saves [\d,]+ tokens: .* · schedule: /,
    `message ${message}`,
  );

  await page.getByRole("slider").fill("1");
  assert.equal((await tip.textContent()).trim(), "", "it is not there yet");

  const chart = page.locator(".chart").first();
  await chart.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  const last = String(data.calls.length - 1);
  assert.equal(await chart.locator(".u-series").first().locator(".u-value").textContent(), last);

  await page.click("#compare > summary");
  const borders = await page
    .locator(".chart .u-marker")
    .evaluateAll((marks) => marks.map((mark) => getComputedStyle(mark).border));
  assert.ok(borders.some((border) => border.includes("dashed")));
  const shown = await page.locator("[id^='line-'][aria-pressed=true]").count();
  assert.ok(shown >= 2 && shown <= 5, `${shown} lines`);
  assert.equal(new Set(borders.slice(-shown)).size, shown, "told apart");

  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background();
  await page.click("#theme");
  assert.notEqual(await background(), before);

  const hero = page.locator(".hero");
  assert.match(await hero.textContent(), /breakpoint cache: \$5\.00 per million tokens of input/);
  assert.match(await page.locator(".tiles").textContent(), /with the hook.*without the hook/s);
  await page.click("#model-prefix");
  assert.equal(await page.getAttribute("#model-prefix", "aria-pressed"), "true");
  assert.match(await hero.textContent(), /prefix cache: /);
  assert.equal(await page.getAttribute("#compare", "open"), "", "as it was");
  await page.click("#language");
  assert.equal(await page.getAttribute("html", "lang"), "zh");
  assert.match(await page.textContent("body"), /每次调用的 token/);
  assert.doesNotMatch(await page.textContent("main"), /Tokens per call|undefined|NaN|no compression|sticky,/);
  await page.reload();
  assert.equal(await page.getAttribute("html", "lang"), "zh", "as it was chosen");
});

for (const locale of ["en-US", "zh-CN"]) {
  pageTest(`the page has no findings, wide and narrow, in ${locale}`, { locale }, async (page) => {
    await page.goto(pathToFileURL(report).href);
    for (const summary of await page.locator("details > summary").all()) await summary.click();
    await checkPage(page);
    // The page is narrow now.
    const cells = page.locator("#compare .policies tbody tr").first().locator("td");
    assert.equal(await cells.count(), 6);
    for (const cell of await cells.all()) assert.equal(await cell.isVisible(), true);
  });
}

pageTest("each large drop is marked, with why it came", { locale: "en-US" }, async (page) => {
  // At a limit `everyCall` frees what each call adds: only the batches of `sticky` make drops.
  const batches = join(folder, "batches.html");
  assert.equal(write("sticky", batches).status, 0);
  await page.goto(pathToFileURL(batches).href);
  const drops = await page.locator(".drops li").allTextContents();
  assert.equal(drops.length, 5);
  for (const drop of drops) assert.match(drop, /^Call \d+: [\d,]+ tokens less \(\S.*\)$/);
});

pageTest("the saving is the largest thing, and edits beyond five come on demand", {}, async (page) => {
  await page.goto(pathToFileURL(report).href);
  const sizes = await page
    .locator("body *:visible")
    .evaluateAll((all) =>
      all.map((each) => [Number.parseFloat(getComputedStyle(each).fontSize), each.className]),
    );
  const [[most, name], [next]] = sizes.toSorted(([a], [b]) => b - a);
  assert.equal(name, "figure");
  assert.ok(most > 2 * next, `${most} and ${next}`);
  const shown = page.locator("#edits tbody tr:visible");
  assert.equal(await shown.count(), 5);
  await page.click("#more > summary");
  assert.ok((await shown.count()) > 5);
  assert.equal(await page.locator("#compare .policies").isVisible(), false);
});

pageTest(
  "the saving is told in dollars, where the session could have been had without",
  { locale: "en-US" },
  async (page) => {
    const path = join(folder, "over.html");
    const heroAt = async (overflows) => {
      const [none, ...others] = data.policies;
      const policies = [{ ...none, overflows }, ...others];
      writeFileSync(path, reportHtml({ ...data, policies }));
      await page.goto(pathToFileURL(path).href);
      return page.locator(".hero").textContent();
    };
    const told = await heroAt(0);
    assert.match(told, /^[−+][\d.]+ %The hook (saves|costs) \$/);
    const [difference, after, before] = told.match(/(?<=\$)\d+\.\d\d/g).map((sum) => Math.round(100 * sum));
    assert.equal(Math.abs(before - after), difference, "as written");
    assert.match(await heroAt(3), /^\$[\d.]+is the cost .*3 calls would not fit the window/);
  },
);

pageTest("each kind has a colour of its own", {}, async (page) => {
  await page.goto(pathToFileURL(report).href);
  const colors = await page
    .locator(".chart >> nth=0 >> .u-marker, .legend i")
    .evaluateAll((all) =>
      all.map((each) => getComputedStyle(each)).map((style) => style.borderColor + style.backgroundColor),
    );
  assert.equal(new Set(colors).size, colors.length, colors.join("\n"));
});

pageTest("nothing is cut on paper, and colours that mean something stay", {}, async (page) => {
  await page.setViewportSize({ width: 1600, height: 900 });
  await page.goto(pathToFileURL(report).href);
  await page.click("#compare > summary");
  const widths = () =>
    page.locator("canvas").evaluateAll((all) => all.map((canvas) => canvas.getBoundingClientRect().width));
  // A chart takes the width of an opened part when it is next drawn.
  await page.waitForFunction(() =>
    Array.from(document.querySelectorAll("canvas")).every((canvas) => canvas.clientWidth > 1000),
  );
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.ok((await widths()).every((width) => width <= 680));
  const adjust = await page.evaluate(
    () => getComputedStyle(document.querySelector(".legend i")).printColorAdjust,
  );
  assert.equal(adjust, "exact");
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.ok((await widths()).every((width) => width > 1000));
});

pageTest(
  "a reader of Chinese gets Chinese, a dark screen a dark page",
  { locale: "zh-CN", colorScheme: "dark" },
  async (page) => {
    await page.goto(pathToFileURL(report).href);
    assert.equal(await page.getAttribute("html", "lang"), "zh");
    assert.equal(await page.getAttribute("html", "data-theme"), "dark");
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.getAttribute("html", "data-theme"), "light");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  },
);
