// Both languages read one table: the numbers by which messages and plans cross the boundary, and the defaults.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import * as strata from "../index.js";
import { table } from "./support/tables.mjs";

const require = createRequire(import.meta.url);
const contract = require("../contract.json");
const { native } = require("../lib/native/native.js");
const { Batch } = require("../lib/hook/snapshot.js");
const { checkHookOptions, nativeOptions } = require("../lib/hook/options.js");

test("the hook's defaults and the exported constants are the table's", () => {
  const options = checkHookOptions("test", {});
  assert.deepEqual(Object.keys(options), Object.keys(contract.hookOptions));
  for (const [name, value] of Object.entries(strata)) {
    if (/^[A-Z_]+$/.test(name)) {
      const option = name.toLowerCase().replace(/_(.)/g, (_, letter) => letter.toUpperCase());
      assert.equal(value, contract.hookOptions[option].default, name);
      assert.equal(options[option], value, name);
    }
  }
  assert.equal(strata.KEEP_RECENT_TOOL_RESULTS, 6);
});

test("index.d.ts declares every option of the table, and no other", () => {
  const file = fileURLToPath(new URL("../index.d.ts", import.meta.url));
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const isOptions = ({ name }) => name?.text === "TransformContextOptions";
  const declared = source.statements.find(isOptions).members.map(({ name }) => name.text);
  assert.deepEqual(declared.toSorted(), Object.keys(contract.hookOptions).toSorted());
});

test("the numbers of a report cross in the order in which read.rs reads them", () => {
  const cost = { input: 5, cacheRead: 6, cacheWrite: 7 };
  const usage = { input: 1, cacheRead: 2, cacheWrite: 3, cacheWrite1h: 4, cost };
  // What a refusal does not say is NaN.
  for (const [errorMessage, ...refused] of table("refusal-numbers.json")) {
    const rows = new Batch();
    rows.add({ role: "assistant", content: [], usage, stopReason: "error", errorMessage });
    assert.deepEqual(
      [...rows.numbers.slice(4, -1)],
      [1, 2, 3, 4, 5, 6, 7, ...refused.map((number) => number ?? Number.NaN)],
    );
  }
});

test("settings that cannot be read are refused by their name", async () => {
  const { Conversation, Lessons } = native();
  const refused = (what) => ({
    code: "ERR_INVALID_INPUT",
    message: new RegExp(`the ${what} are not understood`),
  });
  assert.throws(() => new Conversation("{", new Lessons()), refused("options"));
  const settings = nativeOptions(checkHookOptions("test", {}), undefined, "en");
  const conversation = new Conversation(settings, new Lessons());
  const plan = async () => await conversation.plan(0, new Int32Array(), new Batch(), "{}");
  await assert.rejects(plan, refused("terms of the call"));
});

test("a number that stands for nothing is refused, never taken for something else", () => {
  const rows = new Batch();
  rows.add({ role: "user", content: "text" });
  const { numbers, strings } = rows;
  const count = (changed) => native().countMessages({ numbers: changed, strings })[0];
  assert.equal(count(numbers), 1);
  const roleAt = 0;
  const blockAt = numbers.length - 1;
  for (const at of [roleAt, blockAt]) {
    for (const wrong of [7, 99, 1e9]) {
      assert.throws(() => count(numbers.with(at, wrong)), { code: "ERR_INTERNAL", message: /malformed/ });
    }
  }
});
