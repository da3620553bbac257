// The encodings that are compiled in, as JavaScript needs them. Their vocabularies are in the native engine.
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
 * By name of the encoding:
 * - `models`: families of models, as in tiktoken's own table (0.14). A model is a family, alone or with `-` and more behind it.
 *   Of two families that are equally near to an unknown name, errors name the first;
 * - `pattern`: a JavaScript regular expression. The JSON holds a name of it;
 * - `end`: one past the last ordinary token;
 * - `chat`: the tokens before a message, behind it, and between its head and its text;
 * - `jsTiktoken`: SHA-256 of js-tiktoken's ranks without white space and offsets.
 *
 * gpt2 is the first name of r50k_base.
 */
const TABLE = Object.fromEntries(
  Object.entries(encodings).map(([name, encoding]) => [
    name,
    { ...encoding, pattern: PATTERNS[encoding.pattern] },
  ]),
);

module.exports = { TABLE };
