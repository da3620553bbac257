// Whatever is shown of a recorded session is a word or a number: the command line's tables, the report, the inspector and
// what the extension shows in pi, over every recording at hand. More are taken from ~/.cache/strata-sessions where there
// are any.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { loadSession } from "../lib/cli/session.mjs";
import { createInspector } from "../lib/inspector/index.js";
import { createExtension } from "../pi-extension/index.mjs";
import { pageTest } from "./support/browser.mjs";
import { CLI, folder } from "./support/cli.mjs";
import { FakePi } from "./support/fake-pi.mjs";
import { EXAMPLE, RECORDING } from "./support/recording.mjs";

const MORE = join(homedir(), ".cache/strata-sessions");

const more = existsSync(MORE)
  ? readdirSync(MORE, { recursive: true }).flatMap((name) =>
      name.endsWith(".jsonl") ? [join(MORE, name)] : [],
    )
  : [];
const sessions = Array.from(new Set([EXAMPLE, RECORDING, ...more]));

/** What a value that was not there, or a sum that could not be made, looks like. */
const NOTHING = /undefined|NaN(?![a-z])|[-−]0(?:\.0+)?(?![\d.])|Infinity|\[object|\bnull\b/;

function assertWords(text, what) {
  const at = text.search(NOTHING);
  assert.equal(at, -1, `${what}: …${text.slice(Math.max(0, at - 80), at + 40)}…`);
}

/** What a row of `/strata show` quotes of the conversation, behind the name of the tool or the role. */
const SUBJECT = /^(\d+ +\S+) .* {2}(?=\S+(?: \S+)* +[\d,]+(?: +[0-9a-f]{8})? *$)/gm;

/** A model of pi's catalogue, with prices: the panel says what they come to. */
const MODEL = {
  provider: "anthropic",
  id: "m",
  contextWindow: 200_000,
  cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};

/** Calls at the beginning, in the middle and at the end. */
const someOf = (calls) =>
  [0, 1, 0.25, 0.5, 0.75, 1].map((share, i) => calls[i === 1 ? 1 : Math.round(share * (calls.length - 1))]);

for (const file of sessions) {
  const name = basename(file);
  const page = join(folder, `${name}.html`);

  test(`the tables of ${name}`, async () => {
    const { calls } = await loadSession(file);
    const commands = [
      ["replay", "--html", page, file],
      ["replay", "--context-window", "64000", "--schedule", "everyCall", file],
      ...someOf(calls).map(({ number }) => ["explain", "--call", String(number), file]),
    ];
    for (const args of commands) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: "utf8" });
      assert.equal(status, 0, stderr);
      // The folder's name is made of letters and digits at random.
      assertWords(stdout.replaceAll(folder, ""), args.join(" "));
      // A path takes what it takes.
      const told = stdout.replaceAll(file, "FILE").replaceAll(page, "PAGE");
      for (const line of stripVTControlCharacters(told).split("\n"))
        assert.ok([...line].length <= 80, `${args}: ${line}`);
    }
  });

  test(`pi's panel, options and cuts over ${name}`, async () => {
    const session = await loadSession(file);
    const pi = new FakePi(createExtension(), { model: MODEL, cwd: folder });
    await pi.start();
    for (const call of someOf(session.calls)) {
      const messages = session.messagesBefore(call);
      pi.entries = messages.map((message) => ({ type: "message", message }));
      await pi.emit("context", { messages });
      for (const word of ["", "status", "show"])
        assertWords((await pi.command(word)).replace(SUBJECT, "$1 "), `call ${call.number}`);
    }
    // What went wrong is told as a warning.
    for (const [kind, text] of pi.notices) assert.equal(kind, "info", text);
    for (const text of pi.statuses) assertWords(text, "status line");
  });

  for (const locale of ["en-US", "zh-CN"]) {
    pageTest(`the report of ${name}, ${locale}`, { locale }, async (tab) => {
      await tab.goto(pathToFileURL(page).href);
      for (const summary of await tab.locator("summary").all()) await summary.click();
      const read = async () => assertWords(await tab.locator("main").textContent(), locale);
      await read();
      for (const button of ["#model-prefix", "#model-breakpoint", "#isTotal-false"]) {
        await tab.click(button);
        await read();
      }
      await tab.locator(".map canvas").focus();
      for (const key of ["ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight"]) {
        await tab.keyboard.press(key);
        await read();
      }
      await tab.locator(".chart").first().focus();
      for (const key of ["Home", "ArrowRight", "End"]) {
        await tab.keyboard.press(key);
        await read();
      }
    });

    const may = { mayAsk: /^(http:\/\/127\.0\.0\.1:|data:)/, locale };
    pageTest(`the inspector over ${name}, ${locale}`, may, async (tab, t) => {
      const session = await loadSession(file);
      const inspector = createInspector({ title: name });
      const hook = inspector.createTransformContext({ contextWindow: 200_000, marker: "en" });
      t.after(() => inspector.close());
      await tab.goto(await inspector.open());
      for (const [i, call] of someOf(session.calls).entries()) {
        await hook(session.messagesBefore(call));
        inspector.answered({ type: "message_end", message: session.all[call.at] });
        await tab.locator("#calls tbody tr").nth(i).waitFor();
        assertWords(await tab.locator("main").textContent(), `call ${call.number}`);
      }
      await tab.locator(".map canvas").focus();
      for (const key of ["ArrowRight", "ArrowRight", "ArrowRight"]) {
        await tab.keyboard.press(key);
        assertWords(await tab.locator(".tip").textContent(), key);
      }
    });
  }
}
