// Where js-tiktoken counts differently from tiktoken, as `docs/from-js-tiktoken.md` says; pi-strata counts as tiktoken.
// The wanted numbers are tiktoken-rs's. Should js-tiktoken mend one of these, the note must change with this file.

import assert from "node:assert/strict";
import { test } from "node:test";
import { getEncoding } from "js-tiktoken";
import { countTokens } from "../index.js";

const jsTiktoken = getEncoding("cl100k_base");

test("a byte order mark is no white space", () => {
  assert.equal(countTokens(" \ufeffa"), 2);
  assert.equal(jsTiktoken.encode(" \ufeffa").length, 3);
});

test("U+0085 is white space", () => {
  assert.equal(countTokens(" \u0085a"), 4);
  assert.equal(jsTiktoken.encode(" \u0085a").length, 3);
});

test("special-token text is text", () => {
  assert.equal(countTokens("<|endoftext|>"), 7);
  assert.throws(() => jsTiktoken.encode("<|endoftext|>"), /special token/);
  assert.equal(jsTiktoken.encode("<|endoftext|>", [], []).length, 7);
});

test("a lone surrogate is U+FFFD to both", () => {
  assert.equal(countTokens("a\ud800b"), countTokens("a\ufffdb"));
  assert.equal(jsTiktoken.encode("a\ud800b").length, countTokens("a\ufffdb"));
});
