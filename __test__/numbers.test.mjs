// Numbers of the command-line tool's tables.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { apart, apportioned, change, percent, whole } from "../lib/cli/numbers.mjs";

test("nothing is written as less than nothing", () => {
  assert.equal(change(100, 100), "0.0 %");
  assert.equal(change(0, 0), "0.0 %");
  assert.equal(change(100_000, 99_999), "0.0 %");
  assert.equal(change(100, 25), "−75.0 %");
  assert.equal(change(100, 110), "+10.0 %");
  assert.equal(percent(-0.0001), "0.0 %");
  assert.equal(whole(-0.2), "0");
  assert.equal(whole(52_165_379.960_000_02), "52,165,380");
});

test("two sums of dollars and what lies between them agree to the cent, as they are written", () => {
  assert.equal(apart(5.2536, 3.6654).toFixed(2), "1.58");
  const dollars = fc.double({ min: 0, max: 10_000, noNaN: true });
  fc.assert(
    fc.property(dollars, dollars, (one, other) => {
      const cents = [one, other, apart(one, other)].map((sum) => Math.round(100 * sum.toFixed(2)));
      assert.equal(Math.abs(cents[0] - cents[1]), cents[2]);
    }),
  );
});

test("shares are whole, near what they stand for, and add up", () => {
  const weights = fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000 }), weights, (total, parts) => {
      const all = parts.reduce((sum, part) => sum + part, 0);
      const found = apportioned(total, parts);
      assert.equal(
        found.reduce((sum, part) => sum + part, 0),
        total,
      );
      for (const [i, part] of found.entries()) {
        assert.ok(Number.isInteger(part));
        if (all > 0) assert.ok(Math.abs(part - (total * parts[i]) / all) < 1);
      }
    }),
  );
});
