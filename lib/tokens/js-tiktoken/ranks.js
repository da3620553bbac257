// The objects js-tiktoken keeps its ranks in. Ours name an encoding; their `bpe_ranks` is only written out when it is
// read. js-tiktoken's own are recognised by their contents, so that half a change of imports works, too.
"use strict";

const { createHash } = require("node:crypto");
const { bytesOf, checked, numberOf } = require("../ids.js");
const { native } = require("../../native/native.js");

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const CONTRACTION = "('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)";
const CL100K = `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const O200K =
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${CONTRACTION}?|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${CONTRACTION}?|` +
  "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/** By encoding: its pattern as JavaScript writes it, and one past its last ordinary token. */
const SOURCES = {
  cl100k_base: [CL100K, 100_256],
  o200k_base: [O200K, 199_998],
  o200k_harmony: [O200K, 199_998],
  p50k_base: [GPT2, 50_281],
  p50k_edit: [GPT2, 50_281],
  r50k_base: [GPT2, 50_256],
  gpt2: [GPT2, 50_256],
};

/** SHA-256 of the ranks, white space and offsets left out, with the encoding that has them and its pattern. */
const KNOWN = {
  "981f90d20c5a1cb3115d5c07573e117a5055e967b45c387b5db3fb6878fbb477": "cl100k_base",
  "169a960a1f784842d6367f5c49ee8cbbe2640ddcc6773ad8026939875b5fd82a": "o200k_base",
  "2f7d07c8137871f7074ca54bf166f36ba706b3ec099f40745fde15a7d1a0e5a9": "p50k_base",
  "445c95aed02d34f9cebfeeba666b08c9aebb5419c128c1c8e6995ac1a15f28b9": "r50k_base",
};

const objects = new Map();
const encodings = new WeakMap();

/** The ranks object of an encoding; always the same one. */
function ranksOf(encoding) {
  if (!objects.has(encoding)) {
    const ranks = {
      pat_str: SOURCES[encoding][0],
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

function isOurs(ranks) {
  return encodings.has(ranks);
}

/** The encoding of a ranks object, ours or js-tiktoken's. */
function encodingOfRanks(ranks) {
  const ours = encodings.get(ranks);
  if (ours !== undefined) return ours;
  const encoding = KNOWN[hashOf(String(ranks.bpe_ranks))];
  if (encoding === undefined || ranks.pat_str !== SOURCES[encoding][0]) {
    throw new RangeError(
      "Tiktoken: these ranks, or their pat_str, are none of OpenAI's. Text is cut and merged here by what is compiled in: " +
        `${Object.keys(SOURCES).join(", ")}; for ranks of your own, keep js-tiktoken beside it`,
    );
  }
  return encoding;
}

function hashOf(ranks) {
  const tokens = ranks.replace(/(^|\n)! \d+/g, " ").replace(/\s+/g, " ");
  return createHash("sha256").update(tokens.trim()).digest("hex");
}

/** All tokens in base64, runs of ids on a line after their first one. */
function written(encoding) {
  const [, end] = SOURCES[encoding];
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
