// Both languages read one table: the numbers by which messages and plans cross the boundary, and the defaults.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import * as strata from "../index.js";

const require = createRequire(import.meta.url);
const contract = require("../contract.json");
const { native } = require("../lib/native/native.js");
const { Batch } = require("../lib/hook/snapshot.js");
const { checkHookOptions } = require("../lib/hook/options.js");

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

test("a number that stands for nothing is refused, never taken for something else", () => {
  const rows = new Batch();
  rows.add({ role: "user", content: "text" });
  const { numbers, strings } = rows;
  const count = (changed) => native().countMessages({ numbers: changed, strings })[0];
  assert.equal(count(numbers), 1);
  const roleAt = 1;
  const blockAt = numbers.length - 1;
  for (const at of [roleAt, blockAt]) {
    for (const wrong of [7, 99, 1e9]) {
      assert.throws(() => count(numbers.with(at, wrong)), { code: "ERR_INTERNAL", message: /malformed/ });
    }
  }
});
