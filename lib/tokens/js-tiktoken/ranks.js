// js-tiktoken's objects of ranks. Ours stand for an encoding and write `bpe_ranks` when it is read. js-tiktoken's own objects are
// recognised by their contents, so that a host can replace some imports and keep others.
"use strict";

const { createHash } = process.getBuiltinModule?.("node:crypto") ?? require("node:crypto");
const { bytesOf, checked } = require("../ids.js");
const { TABLE, numberOf } = require("../models.js");
const { native } = require("../../native/native.js");
const patterns = require("../patterns.json");

const objects = new Map();
const encodings = new WeakMap();

/** Returns the ranks object of an encoding, always the same one. */
function ranksOf(encoding) {
  if (!objects.has(encoding)) {
    const ranks = {
      pat_str: patternOf(encoding),
      get special_tokens() {
        return JSON.parse(native().specialTokens(numberOf(encoding)));
      },
      get bpe_ranks() {
        return written(encoding);
      },
    };
    objects.set(encoding, ranks);
    encodings.set(ranks, encoding);
  }
  return objects.get(encoding);
}

/** Returns the regular expression of an encoding, in JavaScript's form. */
const patternOf = (encoding) => patterns[TABLE[encoding].pattern];

const isOurs = (ranks) => encodings.has(ranks);

/** Returns the encoding of a ranks object, ours or js-tiktoken's. */
function encodingOfRanks(ranks) {
  const ours = encodings.get(ranks);
  if (ours !== undefined) return ours;
  const hash = hashOf(String(ranks.bpe_ranks));
  const encoding = Object.keys(TABLE).find((name) => TABLE[name].jsTiktoken === hash);
  if (encoding === undefined || ranks.pat_str !== patternOf(encoding)) {
    throw new RangeError(
      `Tiktoken: these ranks or their pat_str are not OpenAI's; only ${Object.keys(TABLE).join(", ")} are compiled in. ` +
        "Use js-tiktoken itself for ranks of your own",
    );
  }
  return encoding;
}

function hashOf(ranks) {
  const tokens = ranks.replace(/(^|\n)! \d+/g, " ").replace(/\s+/g, " ");
  return createHash("sha256").update(tokens.trim()).digest("hex");
}

/** Writes all tokens in base64. A line holds a run of consecutive ids, the first one ahead. */
function written(encoding) {
  const { end } = TABLE[encoding];
  const special = new Set(Object.values(ranksOf(encoding).special_tokens));
  const lines = [];
  for (let id = 0; id < end; id += 1) {
    if (special.has(id)) continue;
    if (id === 0 || special.has(id - 1)) lines.push(["!", id]);
    lines.at(-1).push(bytesOf(checked([id]), encoding).toString("base64"));
  }
  return lines.map((line) => line.join(" ")).join("\n");
}

module.exports = { encodingOfRanks, isOurs, ranksOf };
