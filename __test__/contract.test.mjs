// Both languages read one table: the numbers by which messages and plans cross the boundary, and the defaults.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as strata from "../index.js";

const require = createRequire(import.meta.url);
const wire = require("../lib/hook/wire.js");
const { native } = require("../lib/native/native.js");
const { Batch } = require("../lib/hook/snapshot.js");
const { checkHookOptions } = require("../lib/hook/options.js");

test("both sides say the same", () => {
  const { roles, blocks, actions, layers, cutMarker, defaults } = native().contract();
  assert.deepEqual(wire.ROLES, roles);
  assert.deepEqual(wire.BLOCKS, blocks);
  assert.deepEqual(wire.ACTIONS, actions);
  assert.deepEqual(wire.LAYERS, layers);
  assert.deepEqual(wire.CUT_MARKER, cutMarker);
  assert.deepEqual(wire.DEFAULTS, { ...defaults });
});

test("the hook's defaults and the exported constants are the table's", () => {
  const options = checkHookOptions("test", {});
  const exported = new Map(Object.entries(strata));
  for (const [name, value] of Object.entries(wire.DEFAULTS)) {
    if (name in options) assert.equal(options[name], value, name);
    const constant = name.replace(/[A-Z]/g, "_$&").toUpperCase();
    if (exported.has(constant)) assert.equal(exported.get(constant), value, constant);
  }
  assert.equal(strata.KEEP_RECENT_TOOL_RESULTS, wire.DEFAULTS.keepRecentToolResults);
});

test("a number that stands for nothing is refused, never taken for something else", () => {
  const rows = new Batch();
  rows.add(0, { role: "user", content: "text" });
  const { numbers, strings } = rows;
  const count = (changed) => native().countMessages(changed, strings, 1200);
  assert.equal(count(numbers), 1);
  const roleAt = 2;
  const blockAt = numbers.length - 1;
  for (const at of [roleAt, blockAt]) {
    for (const wrong of [6, 99, 1e9]) {
      assert.throws(() => count(numbers.with(at, wrong)), { code: "ERR_INTERNAL", message: /malformed/ });
    }
  }
});
