// The wire checkers against fixtures: what providers take passes, and each broken request is seen by the very rule it
// breaks.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fixturesOf } from "./support/wire/fixtures/index.mjs";
import { introduced, judge, rulesOf } from "./support/wire/judge.mjs";

/** Broken requests over all protocols, at least. */
const FIXTURES = 40;

const ruleNames = (objections) => new Set(objections.map((objection) => objection.split(": ")[0]));

for (const [api, { valid, invalid }] of Object.entries(fixturesOf)) {
  describe(`The checker of ${api}`, () => {
    test("lets valid requests pass", () => {
      for (const payload of valid) assert.deepEqual(judge(api, payload, payload), []);
    });

    for (const { rule, what, payload, unedited } of invalid) {
      test(`sees that ${what}`, () => {
        const seen = ruleNames(judge(api, payload, unedited));
        assert.ok(seen.has(rule), `${rule} says nothing; ${[...seen]}`);
      });
    }

    test("has a broken request for each rule", () => {
      const proven = new Set(invalid.map(({ rule }) => rule));
      assert.deepEqual([...proven].sort(), Object.keys(rulesOf[api]).sort());
    });

    test("blames the hook for what it broke and not for what was broken", () => {
      for (const { payload } of invalid) assert.deepEqual(introduced(api, payload, payload), []);
      for (const { rule, payload } of invalid) {
        if (ruleNames(judge(api, payload)).has(rule))
          assert.ok(introduced(api, payload, valid[0]).length > 0, rule);
      }
    });
  });
}

test(`at least ${FIXTURES} broken requests prove the checkers`, (t) => {
  const fixtures = Object.values(fixturesOf).flatMap(({ invalid }) => invalid);
  assert.ok(fixtures.length >= FIXTURES, `${fixtures.length}`);
  t.diagnostic(`${fixtures.length} broken requests, each seen by the rule it breaks`);
});
