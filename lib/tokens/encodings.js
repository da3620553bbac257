// The encodings that are compiled in, one entry each, as JavaScript needs them; the tables themselves are the engine's.
"use strict";

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const CONTRACTION = "('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)";
const CL100K = `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const O200K =
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${CONTRACTION}?|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${CONTRACTION}?|` +
  "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/**
 * By encoding:
 * - `models`, as tiktoken's own table (0.14) has them: a name is one of these families, or one with `-` and anything after
 *   it. Of two that are as near to a name that is none, the first is named;
 * - `pattern`, as JavaScript writes it;
 * - `end`, one past its last ordinary token;
 * - `chat`, the tokens of a message's beginning, its end, and what parts its head from its text;
 * - `jsTiktoken`, the SHA-256 of js-tiktoken's ranks, white space and offsets left out.
 *
 * gpt2 is what r50k_base was called first.
 */
const TABLE = {
  o200k_base: {
    models: ["gpt-5", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o", "o1", "o3", "o4-mini", "codex-mini"],
    pattern: O200K,
    end: 199_998,
    chat: { start: 200264, end: 200265, separator: 200266 },
    jsTiktoken: "169a960a1f784842d6367f5c49ee8cbbe2640ddcc6773ad8026939875b5fd82a",
  },
  o200k_harmony: {
    models: ["gpt-oss"],
    pattern: O200K,
    end: 199_998,
    chat: { start: 200006, end: 200007, separator: 200008 },
  },
  cl100k_base: {
    models: [
      "gpt-4",
      "gpt-3.5-turbo",
      "gpt-3.5",
      "gpt-35-turbo",
      "davinci-002",
      "babbage-002",
      "text-embedding-ada-002",
      "text-embedding-3-small",
      "text-embedding-3-large",
    ],
    pattern: CL100K,
    end: 100_256,
    chat: { start: 100264, end: 100265, separator: 100266 },
    jsTiktoken: "981f90d20c5a1cb3115d5c07573e117a5055e967b45c387b5db3fb6878fbb477",
  },
  p50k_base: {
    models: [
      "text-davinci-003",
      "text-davinci-002",
      "code-davinci-002",
      "code-davinci-001",
      "code-cushman-002",
      "code-cushman-001",
      "davinci-codex",
      "cushman-codex",
    ],
    pattern: GPT2,
    end: 50_281,
    jsTiktoken: "2f7d07c8137871f7074ca54bf166f36ba706b3ec099f40745fde15a7d1a0e5a9",
  },
  p50k_edit: {
    models: ["text-davinci-edit-001", "code-davinci-edit-001"],
    pattern: GPT2,
    end: 50_281,
  },
  r50k_base: {
    models: [
      "text-davinci-001",
      "text-curie-001",
      "text-babbage-001",
      "text-ada-001",
      "davinci",
      "curie",
      "babbage",
      "ada",
      "text-similarity-davinci-001",
      "text-similarity-curie-001",
      "text-similarity-babbage-001",
      "text-similarity-ada-001",
      "text-search-davinci-doc-001",
      "text-search-curie-doc-001",
      "text-search-babbage-doc-001",
      "text-search-ada-doc-001",
      "code-search-babbage-code-001",
      "code-search-ada-code-001",
    ],
    pattern: GPT2,
    end: 50_256,
    jsTiktoken: "445c95aed02d34f9cebfeeba666b08c9aebb5419c128c1c8e6995ac1a15f28b9",
  },
  gpt2: {
    models: ["gpt2", "gpt-2"],
    pattern: GPT2,
    end: 50_256,
  },
};

module.exports = { TABLE };
