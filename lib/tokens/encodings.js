// The encodings that are compiled in, one entry each, as JavaScript needs them; the tables themselves are the engine's.
"use strict";

const encodings = require("./encodings.json");

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const CONTRACTION = "('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)";
const CL100K = `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const O200K =
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${CONTRACTION}?|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${CONTRACTION}?|` +
  "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const PATTERNS = { gpt2: GPT2, cl100k: CL100K, o200k: O200K };

/**
 * By encoding:
 * - `models`, as tiktoken's own table (0.14) has them: a name is one of these families, or one with `-` and anything after
 *   it. Of two that are as near to a name that is none, the first is named;
 * - `pattern`, as JavaScript writes it, in the table by its name;
 * - `end`, one past its last ordinary token;
 * - `chat`, the tokens of a message's beginning, its end, and what parts its head from its text;
 * - `jsTiktoken`, the SHA-256 of js-tiktoken's ranks, white space and offsets left out.
 *
 * gpt2 is what r50k_base was called first.
 */
const TABLE = Object.fromEntries(
  Object.entries(encodings).map(([name, encoding]) => [
    name,
    { ...encoding, pattern: PATTERNS[encoding.pattern] },
  ]),
);

module.exports = { TABLE };
