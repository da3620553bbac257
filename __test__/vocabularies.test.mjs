// Vocabularies from files, held against the libraries the files were made for: `tokenizers` and `tiktoken`, from PyPI.
// `PI_STRATA_VOCABULARY_STRINGS=1000000` asks for more strings, `PI_STRATA_FUZZ_SEED` for others.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { countTokens, createTransformContext, explain, isWithinTokenLimit } from "../index.js";
import { getEncoding, loadEncoding } from "../lib/tokens/index.js";
import { fieldsOf } from "./support/fields.mjs";
import { characterOf, installOracles, oracleOf, VOCABULARIES } from "./support/vocabularies/index.mjs";
import { strings } from "./support/vocabularies/strings.mjs";

const STRINGS = Number((process.env.PI_STRATA_VOCABULARY_STRINGS ?? "2000").replaceAll("_", ""));
const SEED = Number(process.env.PI_STRATA_FUZZ_SEED ?? 1);

before(installOracles);

function load(name) {
  const { file, pattern, special } = VOCABULARIES[name];
  return loadEncoding(file, { name, pattern, specialTokens: special });
}

for (const [name, vocabulary] of Object.entries(VOCABULARIES)) {
  test(`${name} encodes as the library it was made for`, { timeout: 3_600_000 }, async () => {
    assert.ok(existsSync(vocabulary.file), `${vocabulary.file} is not installed: npm run install:nested`);
    const encoding = await load(name);
    assert.equal(encoding.isFast, vocabulary.isFast ?? true);
    const { added, isComposed } = read(vocabulary);
    const texts = strings(STRINGS, SEED, added);
    const asked = strings(STRINGS, SEED, added);
    let count = 0;
    for await (const [ordinary, special] of oracleOf(vocabulary, asked)) {
      const text = texts.next().value;
      const place = JSON.stringify(text);
      same(encoding.encode(text), ordinary, place);
      assert.equal(encoding.countTokens(text), ordinary.length, place);
      same([...encoding.encodeGenerator(text)].flat(), ordinary, place);
      if (vocabulary.kind !== "tekken.json") same(encoding.encode(text, "all"), special, place);
      // The library composes by an older Unicode, so some marks stay where they stood.
      const whole = (text) => (isComposed ? text.normalize("NFC") : text);
      if (!vocabulary.isLossy)
        assert.equal(whole(encoding.decode(ordinary)), whole(text.toWellFormed()), place);
      count += 1;
    }
    assert.equal(count, STRINGS);
  });
}

/** As `assert.deepEqual`, which looks for minutes for what differs in long lists. */
function same(found, wanted, place) {
  const at = wanted.findIndex((id, index) => found[index] !== id);
  if (at < 0 && found.length === wanted.length) return;
  const around = (ids) => ids.slice(Math.max(0, at - 2), at + 5);
  assert.fail(`${place}, at ${at}: ${around(found)} instead of ${around(wanted)}`);
}

/** The texts of a file's added tokens, which strings are to hold, and whether it brings text into composed form. */
function read({ kind, file, special }) {
  if (kind !== "tokenizer.json") return { added: Object.keys(special ?? {}), isComposed: false };
  const { added_tokens: added, normalizer } = JSON.parse(readFileSync(file, "utf8"));
  return { added: added.map(({ content }) => content), isComposed: normalizer?.type === "NFC" };
}

describe("a loaded encoding", () => {
  test("is one per name and content, and everywhere an encoding can be named", async () => {
    const encoding = await load("qwen3");
    assert.equal(await load("qwen3"), encoding);
    assert.equal(getEncoding("qwen3"), encoding);
    const { file } = VOCABULARIES.qwen3;
    const same = await loadEncoding(readFileSync(file), { name: "the same" });
    assert.equal(same.name, "the same");
    const text = "exact from the first call, 精确";
    const count = encoding.encode(text).length;
    assert.equal(same.countTokens(text), count);
    assert.equal(countTokens(text, { encoding: "qwen3" }), count);
    assert.equal(countTokens(text, { encoding }), count);
    await assert.rejects(
      loadEncoding(VOCABULARIES["llama3.1"].file, { name: "qwen3" }),
      /is taken by another/,
    );
    await assert.rejects(loadEncoding(file, { name: "o200k_base" }), /built-in/);
  });

  test("counts for the hook, by name and as an object", async () => {
    const encoding = await load("deepseek-v3");
    const messages = [{ role: "user", content: "数一数这些词 and these words, 12345" }];
    const wanted = encoding.countTokens(messages[0].content);
    for (const option of ["deepseek-v3", encoding]) {
      const { tokensBefore } = await explain(messages, { encoding: option });
      assert.equal(tokensBefore, wanted);
      const events = [];
      const transform = createTransformContext({ encoding: option, onEvent: (event) => events.push(event) });
      assert.equal(await transform(messages), messages);
      assert.ok(!fieldsOf(events, "type").includes("failed"));
    }
    assert.throws(() => createTransformContext({ encoding: { name: "nobody's" } }), /option encoding is/);
  });

  test("is the same however its JSON is written", async () => {
    const plain = JSON.parse(file({}, { vocab: { ...vocab(), ab: 256, abc: 257 }, merges: ["a b", "ab c"] }));
    const { vocab: tokens, merges, ...model } = plain.model;
    const text = JSON.stringify(plain);
    const escaped = [...text].map((c) =>
      c > "~" ? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}` : c,
    );
    const ways = {
      plain: text,
      escaped: escaped.join(""),
      indented: JSON.stringify(plain, null, "\t"),
      "merges as lists": text.replace('"a b","ab c"', '["a","b"],["ab","c"]'),
      "model first": JSON.stringify({ model: { merges, vocab: tokens, ...model }, ...plain }),
      "merges first": JSON.stringify({ ...plain, model: { merges, vocab: tokens, ...model } }),
    };
    for (const [name, way] of Object.entries(ways)) {
      const encoding = await loadEncoding(Buffer.from(way), { name });
      assert.deepEqual(encoding.encode("abcab, é"), [257, 256, 44, 32, 0xc3, 0xa9], name);
    }
  });

  test("keeps a limit whatever the length of its tokens", async () => {
    const lengths = [2, 4, 8, 16, 32, 64, 128, 256];
    const tokens = lengths.map((length, at) => ["a".repeat(length), 256 + at]);
    const merges = lengths.map((length) => Array(2).fill("a".repeat(length / 2)));
    const bytes = Buffer.from(file({}, { vocab: { ...vocab(), ...Object.fromEntries(tokens) }, merges }));
    const encoding = await loadEncoding(bytes, { name: "long tokens" });
    const text = "a".repeat(40 * 256);
    assert.deepEqual(encoding.encode(text), Array(40).fill(263));
    assert.equal(isWithinTokenLimit(text, 40, { encoding }), 40);
    assert.equal(isWithinTokenLimit(text, 39, { encoding }), false);
  });

  test("takes special tokens where they are allowed, and refuses them where they are not", async () => {
    const encoding = await load("llama3.1");
    const text = "a<|eot_id|>b";
    assert.ok(encoding.encode(text).length > 3);
    assert.deepEqual(encoding.encode(text, "all"), [64, 128009, 65]);
    assert.deepEqual(encoding.encode(text, ["<|eot_id|>"]), [64, 128009, 65]);
    assert.throws(() => encoding.encode(text, [], "all"), /not allowed: <\|eot_id\|>/);
    assert.throws(() => encoding.encode(text, "all", ["<|eot_id|>"]), /not allowed: <\|eot_id\|>/);
    assert.deepEqual(encoding.encode(text, "all", ["c"]), [64, 128009, 65]);
    assert.equal(encoding.decode([64, 128009, 65]), text);
  });
});

describe("a file that cannot be used is one error with its place", () => {
  const cases = [
    ["is empty", "", /the file: is empty/],
    ["cut", '{"model": {"type": "BPE", "vocab": {"a": 0', /line 1, column \d+: EOF/],
    [
      "another model",
      '{"model": {"type": "Unigram", "vocab": [["a", -1.5]]}}',
      /model.type: Unigram is not supported/,
    ],
    ["words in pieces", '{"model": {"type": "WordPiece", "vocab": {}}}', /WordPiece is not supported/],
    [
      "no ByteLevel",
      file({ pre_tokenizer: { type: "Metaspace" } }),
      /pre_tokenizer: Metaspace is not supported/,
    ],
    [
      "a type that moves a cursor",
      '{"model": {"type": "\\u001b[2J"}}',
      /model.type: \\u\{1b\}\[2J is not supported/,
    ],
    ["no type", file({ pre_tokenizer: {} }), /pre_tokenizer: a part without a type is not supported/],
    ["lower case", file({ normalizer: { type: "Lowercase" } }), /normalizer: Lowercase is not supported/],
    [
      "a merge of nothing",
      file({}, { merges: [["", "a"]] }),
      /model.merges\[0\]: token "" is not in the vocabulary/,
    ],
    [
      "a merge of strangers",
      file({}, { merges: ["a b", "b c"] }),
      /model.merges\[0\]: token "ab" is not in the vocabulary/,
    ],
    ["a token of no text", unreadable(), /byte \d+: is not UTF-8/],
    ["an id twice", file({}, { vocab: { ...vocab(), ab: 97 } }), /the id 97 is another token's, too/],
    ["an id too high", file({}, { vocab: { ...vocab(), ab: 2 ** 31 } }), /the id 2147483648 is not below/],
    ["a byte missing in ranks", "YQ== 0\n", /no token is the byte 0x00/, { pattern: "gpt2" }],
    ["no bytes", file({}, { vocab: { ab: 0 } }), /no token is a byte/],
    [
      "bytes written otherwise",
      file({}, { vocab: { a: 0 }, byte_fallback: true }),
      /model.byte_fallback: is not supported .* the byte 0x00/,
    ],
    [
      "an unknown token that is none",
      file({}, { vocab: { a: 0 }, unk_token: "<unk>" }),
      /model.unk_token: token "<unk>" is not in the vocabulary/,
    ],
    ["ranks twice", "YQ== 0\nYg== 0\n", /line 2: the id 0 is another token's, too/],
    ["no ranks", "what is this?\n", /line 1: is not a token in base64/],
    ["a pointer", "version https://git-lfs.github.com/spec/v1\n", /the file: is a pointer of Git LFS/],
    ["a byte order mark", "\ufeffYQ== 0\n", /no token is the byte 0x00/, { pattern: "gpt2" }],
    [
      "a pattern of no known name",
      "YQ== 0\n",
      /the pattern: is no regular expression, nor .* kimi/,
      { pattern: "Kimi" },
    ],
    [
      "a pattern that looks around",
      file({ pre_tokenizer: split("(?<=a)b") }),
      /the pattern: look-around.* at offset 0/,
    ],
    [
      "a pattern that backtracks",
      file({ pre_tokenizer: split("(a)\\1") }),
      /the pattern: backreferences.* at offset 3/,
    ],
    [
      "a pattern that explodes",
      file({ pre_tokenizer: split("((\\p{L}{1,999}){1,999}){1,999}") }),
      /the pattern: /,
    ],
    ["arrays without end", `{"normalizer": ${"[".repeat(1_000_000)}`, /recursion limit/],
  ];
  for (const [name, text, wanted, options] of cases) {
    test(name, () => assert.rejects(loadEncoding(Buffer.from(text), { name, ...options }), wanted));
  }

  test("100 MB that are no vocabulary", async () => {
    const entries = `"${"x".repeat(1000)}": 1,`.repeat(100_000);
    await assert.rejects(
      loadEncoding(Buffer.from(`{"model": {"vocab": {${entries}`), { name: "large" }),
      /EOF/,
    );
    await assert.rejects(
      loadEncoding(Buffer.alloc(129 << 20, 65), { name: "larger" }),
      /has more than 128 MB/,
    );
  });

  test("a path that is none, and options that are none", async () => {
    await assert.rejects(loadEncoding("no/such/file.json"), {
      code: "ERR_INVALID_INPUT",
      message: /cannot read no\/such/,
    });
    await assert.rejects(loadEncoding(7), TypeError);
    await assert.rejects(loadEncoding(Buffer.from("{}")), /bytes need one/);
    await assert.rejects(loadEncoding("a", { nmae: "b" }), /no option nmae/);
  });
});

function vocab() {
  return Object.fromEntries(Array.from({ length: 256 }, (_, byte) => [characterOf(byte), byte]));
}

function unreadable() {
  const bytes = Buffer.from(file({}, { vocab: { ...vocab(), "  ": 256 } }));
  return bytes.fill(0xff, bytes.indexOf("  "), bytes.indexOf("  ") + 2);
}

function split(pattern) {
  return {
    type: "Sequence",
    pretokenizers: [
      { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false },
      { type: "ByteLevel", add_prefix_space: false, use_regex: false },
    ],
  };
}

function file(rest, model) {
  return JSON.stringify({
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    added_tokens: [],
    ...rest,
    model: { type: "BPE", vocab: vocab(), merges: [], ...model },
  });
}
