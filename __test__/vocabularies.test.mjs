// Vocabularies from files, held against the libraries the files were made for: `tokenizers` and `tiktoken`, from PyPI.
// `PI_STRATA_VOCABULARY_STRINGS=1000000` asks for more strings, `PI_STRATA_FUZZ_SEED` for others.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { countTokens, createTransformContext, explain, isWithinTokenLimit } from "../index.js";
import { getEncoding, loadEncoding } from "../lib/tokens/index.js";
import { fieldsOf } from "./support/fields.mjs";
import { table } from "./support/tables.mjs";
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
  const cases = {
    ...table("vocabularies.json"),
    "a token of no text": { text: unreadable(), says: "byte \\d+: is not UTF-8" },
    "arrays without end": { text: `{"normalizer": ${"[".repeat(1_000_000)}`, says: "recursion limit" },
  };
  for (const [name, { says, pattern, ...made }] of Object.entries(cases)) {
    const text = made.text ?? fileOf(made);
    test(name, () => assert.rejects(loadEncoding(Buffer.from(text), { name, pattern }), new RegExp(says)));
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

/** A file of one part that is as `file` has it, with more `tokens`, or that splits by this pattern. */
function fileOf({ file: { model, ...rest } = {}, tokens, split: pattern }) {
  const parts = pattern === undefined ? rest : { pre_tokenizer: split(pattern) };
  return file(parts, { ...(tokens && { vocab: { ...vocab(), ...tokens } }), ...model });
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
