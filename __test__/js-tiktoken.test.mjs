// pi-strata/js-tiktoken against js-tiktoken itself: the same calls, the same answers, the same errors; and where they
// differ, why, as `docs/tokens.md` says. Should js-tiktoken mend one of these, the note must change with this
// file.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as theirs from "js-tiktoken";
import * as theirLite from "js-tiktoken/lite";
import * as ours from "pi-strata/js-tiktoken";
import * as ourLite from "pi-strata/js-tiktoken/lite";
import { getEncoding } from "pi-strata/tokens";
import { countTokens } from "../index.js";
import { table } from "./support/tables.mjs";
import { dice } from "./support/transcripts.mjs";

const require = createRequire(import.meta.url);
const NAMES = ["gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base"];
/** js-tiktoken takes a third of a second to read its ranks: once for each encoding. */
const theirEncodings = Object.fromEntries(NAMES.map((name) => [name, theirs.getEncoding(name)]));

/** The outcome of a call, or the message of what it throws. */
function outcome(call) {
  try {
    return call();
  } catch (error) {
    return `throws ${error.message}`;
  }
}

const PARTS = [
  ..."abcXYZ019 \n\t.,'/\ud800",
  ...["hello", " world", "don't", "HTMLParser", "日本語", "é", "👩‍👩‍👧", "  ", "\r\n"],
  ...["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "<|end", "<|", "|>"],
];
const SPECIALS = ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "hello", "<|nobody|>", "|>"];

test("the same names are exported", () => {
  const names = (from) =>
    Object.keys(from)
      .filter((name) => !/^(default|module\.exports)$/.test(name))
      .sort();
  assert.deepEqual(names(ours), names(theirs));
  assert.deepEqual(names(ourLite), names(theirLite));
});

test("3000 random texts and special arguments give what js-tiktoken gives", () => {
  for (let seed = 1; seed <= 3000; seed += 1) {
    const random = dice(seed * 7919);
    const text = Array.from({ length: 1 + random(12) }, () => PARTS[random(PARTS.length)]).join("");
    const some = () => SPECIALS.filter(() => random(3) === 0);
    const given = [
      [],
      [[]],
      ["all"],
      [some()],
      [some(), []],
      [some(), "all"],
      [some(), some()],
      ["all", some()],
    ];
    const args = [text, ...given[random(given.length)]];
    const name = NAMES[random(NAMES.length)];
    const wanted = outcome(() => theirEncodings[name].encode(...args));
    const encoding = ours.getEncoding(name);
    const where = `${name}, ${JSON.stringify(args)}`;
    const own = outcome(() => encoding.encode(...args));
    assert.deepEqual(own, wanted, where);
    if (typeof wanted === "string") continue;
    assert.equal(encoding.decode(wanted), theirEncodings[name].decode(wanted), where);
    assert.deepEqual(Array.from(encoding.encodeTyped(...args)), wanted, where);
    assert.deepEqual([...encoding.encodeGenerator(...args)].flat(), wanted);
    assert.equal([...encoding.decodeGenerator(wanted)].join(""), encoding.decode(wanted));
  }
});

test("special tokens of one's own give what js-tiktoken gives", () => {
  const more = { "<|im_start|>": 100264, "<|im_end|>": 100265, odd: 70_000_000, here: 100 };
  const [their, our] = [theirs, ours].map((from) => from.getEncoding("cl100k_base", more));
  for (const text of ["<|im_start|>user<|im_end|>", "odd and here<|endoftext|>", "oddodd", "plain"]) {
    for (const args of [
      ["all"],
      [["odd"]],
      [["odd"], []],
      [[], []],
      [[], ["odd"]],
      [null, null],
      [null, ["odd"]],
      [["odd"], null],
    ]) {
      const wanted = outcome(() => their.encode(text, ...args));
      assert.deepEqual(
        outcome(() => our.encode(text, ...args)),
        wanted,
        JSON.stringify([text, args]),
      );
      if (Array.isArray(wanted)) assert.equal(our.decode(wanted), their.decode(wanted));
    }
  }
  assert.throws(() => ours.getEncoding("cl100k_base", { "": 1 }), /special token ""/);
  assert.throws(() => ours.getEncoding("cl100k_base", { x: -1 }), /special token "x" is -1/);
});

test("ranks: ours are js-tiktoken's, and js-tiktoken's are taken, too", () => {
  for (const name of NAMES) {
    const [their, our] = [
      require(`js-tiktoken/ranks/${name}`),
      require(`pi-strata/js-tiktoken/ranks/${name}`),
    ];
    for (const field of ["pat_str", "bpe_ranks", "special_tokens"])
      assert.deepEqual(our[field], their[field], `${name}: ${field}`);
    for (const ranks of [their, our]) {
      const encoding = new ourLite.Tiktoken(ranks, { "<|x|>": 300_000 });
      assert.deepEqual(encoding.encode("hello <|x|>", "all"), [
        ...theirEncodings[name].encode("hello "),
        300_000,
      ]);
    }
  }
  const own = { ...require("js-tiktoken/ranks/gpt2"), bpe_ranks: "! 0 IQ== Ig==" };
  assert.throws(() => new ours.Tiktoken(own), /not OpenAI's/);
  assert.throws(() => new ours.Tiktoken(undefined), /ranks is undefined/);
  assert.ok(ours.getEncoding("gpt2") instanceof ours.Tiktoken);
});

test("models: js-tiktoken's, today's, dated, fine-tuned and with a vendor's name before", () => {
  // tiktoken says cl100k_base of these two.
  const differ = new Set(["davinci-002", "babbage-002"]);
  const source = require("node:fs").readFileSync(require.resolve("js-tiktoken"), "utf8").slice(-40_000);
  const known = new Set([...source.matchAll(/case "([a-z][a-z0-9.-]+)"/g)].map(([, model]) => model));
  for (const model of known) {
    const wanted = outcome(() => theirs.getEncodingNameForModel(model));
    if (wanted.startsWith("throws") || differ.has(model)) continue;
    assert.equal(ours.getEncodingNameForModel(model), wanted, model);
  }
  assert.ok(known.size > 90, `${known.size} models`);
  for (const [encoding, models] of Object.entries(table("todays-models.json")))
    for (const model of models) assert.equal(ours.getEncodingNameForModel(model), encoding, model);
  const nearest = /Unknown model "gpt-4p": the nearest known is "gpt-4o".*Name the encoding/;
  assert.throws(() => ours.encodingForModel("gpt-4p"), nearest);
  assert.throws(() => ours.getEncodingNameForModel("claude-opus-4"), /Unknown model/);
  assert.throws(
    () => ours.getEncoding("o200k"),
    /Unknown encoding "o200k": the nearest known is "o200k_base"/,
  );
});

test("bad tokens and texts: a clear error, never a crash", () => {
  const encoding = ours.getEncoding("o200k_base");
  const shown = new Map([
    [5n, "5"],
    ["7", '"7"'],
  ]);
  for (const token of [-1, 1.5, Number.NaN, 2 ** 32 + 5, 5n, "7", undefined]) {
    const wanted = `decode: token ${shown.get(token) ?? token} at position 1 must be a whole number from 0 to 4294967295`;
    assert.throws(() => encoding.decode([0, token]), { name: "TypeError", message: wanted });
  }
  assert.throws(() => encoding.decode([0, 250_000]), /token 250000 at position 1 is not in o200k_base/);
  assert.throws(() => encoding.decode(7), /tokens is 7; it must be an array/);
  assert.throws(() => encoding.encode(42), /^TypeError: encode: text is 42; it must be a string$/);
  assert.throws(() => encoding.countTokens(42), /countTokens: text is 42/);
  assert.throws(() => encoding.encode("x", "some"), /allowedSpecial is "some"/);
  const [split] = encoding.encode("\u{1F9EA}");
  assert.equal(encoding.decode([split]), "\ufffd");
  assert.equal(encoding.decode(new Set([24912])), "hello");
  encoding.free?.();
});

test("typed arrays decode as lists do: short, long, shared with other threads, a part of another, of other widths", () => {
  const encoding = ours.getEncoding("o200k_base");
  for (const text of ["word", "größer 日本語 \u{1F9EA} plain words\n".repeat(50)]) {
    const tokens = encoding.encode(text);
    const shared = new Uint32Array(new SharedArrayBuffer(4 * tokens.length));
    shared.set(tokens);
    const part = Uint32Array.of(7, ...tokens, 7).subarray(1, -1);
    for (const typed of [Uint32Array.from(tokens), shared, part, Float64Array.from(tokens)]) {
      assert.equal(encoding.decode(typed), text);
    }
  }
  const unknown = new Uint32Array(100).fill(24912).fill(250_000, 70);
  assert.throws(() => encoding.decode(unknown), /token 250000 at position 70 is not in o200k_base/);
  const detached = new Uint32Array(100);
  structuredClone(detached, { transfer: [detached.buffer] });
  assert.equal(encoding.decode(detached), "");
});

test("texts longer than what is kept for them come back whole, also with more tokens than characters", () => {
  for (const text of ["word, größer 日本語 \n".repeat(20_000), "\ua015\ua2f3 ".repeat(40_000)]) {
    for (const name of ["cl100k_base", "o200k_base", "gpt2"]) {
      const encoding = ours.getEncoding(name);
      const tokens = encoding.encode(text);
      assert.equal(tokens.length, encoding.countTokens(text));
      assert.deepEqual([...encoding.encodeTyped(text)], tokens);
      assert.equal(encoding.decode(tokens), text);
      assert.deepEqual([...encoding.encodeGenerator(text)].flat(), tokens);
      assert.equal([...encoding.decodeGenerator(tokens)].join(""), text);
    }
  }
});

test("tokens that arrive one by one never show half a character", async () => {
  const encoding = ours.getEncoding("cl100k_base");
  const text = "a 👩‍👩‍👧‍👦 é 日本語 \ufeff b";
  async function* arriving() {
    for (const token of encoding.encode(text)) yield token;
  }
  const parts = [];
  for await (const part of encoding.decodeAsyncGenerator(arriving())) parts.push(part);
  assert.equal(parts.join(""), text);
  assert.ok(parts.every((part) => !part.includes("\ufffd")) && parts.length > 10, JSON.stringify(parts));
});

test("a byte order mark is no white space, and stays at the front of what is decoded", () => {
  assert.equal(countTokens(" \ufeffa"), 2);
  assert.equal(theirEncodings.cl100k_base.encode(" \ufeffa").length, 3);
  const tokens = ours.getEncoding("cl100k_base").encode("\ufeffa");
  assert.equal(ours.getEncoding("cl100k_base").decode(tokens), "\ufeffa");
  assert.equal(theirEncodings.cl100k_base.decode(tokens), "a");
});

test("U+0085 is white space, and a lone surrogate is U+FFFD", () => {
  assert.equal(countTokens(" \u0085a"), 4);
  assert.equal(theirEncodings.cl100k_base.encode(" \u0085a").length, 3);
  for (const count of [countTokens, (text) => theirEncodings.cl100k_base.encode(text).length])
    assert.equal(count("a\ud800b"), countTokens("a\ufffdb"));
});

test("special-token text is text to getEncoding of the package itself", () => {
  const encoding = getEncoding("cl100k_base");
  assert.equal(countTokens("<|endoftext|>"), 7);
  const ordinary = theirEncodings.cl100k_base.encode("<|endoftext|>", [], []);
  assert.deepEqual(encoding.encode("<|endoftext|>"), ordinary);
  assert.deepEqual(encoding.encode("<|endoftext|>", "all"), [100257]);
  assert.throws(() => theirEncodings.cl100k_base.encode("<|endoftext|>"), /special token/);
  assert.throws(() => ours.getEncoding("cl100k_base").encode("<|endoftext|>"), /token that is not allowed/);
});

test("unknown tokens: js-tiktoken leaves them out, here they are an error", () => {
  assert.equal(theirEncodings.cl100k_base.decode([15339, 100_256]), "hello");
  const gaps = { cl100k_base: 100_256, p50k_base: 50_281 };
  for (const [name, gap] of Object.entries(gaps)) {
    const ids = `whose ids are 0 to ${gap - 1} and those of its special tokens`;
    assert.throws(
      () => ours.getEncoding(name).decode([262, gap]),
      new RegExp(`token ${gap} at position 1 is not in ${name}, ${ids}`),
    );
  }
});
