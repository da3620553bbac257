// Text from outside is read in time by its length, whatever it repeats: no regular expression goes over it again and again.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import ts from "typescript";
import { pathProtection } from "../pi-extension/paths.mjs";
import { recordOf } from "../pi-extension/record.mjs";
import { answer } from "./support/messages.mjs";
import { ROOT } from "./support/root.mjs";

const require = createRequire(import.meta.url);
const contract = require("../contract.json");
const { readRefusal } = require("../lib/hook/refusals.js");
const { readPairs } = require("../lib/sessions/pairs.js");

const TEXT_UNITS = 100_000;
/** Most processor time, ms: eight times that of the slowest linear expression. Most quadratic ones take seconds. */
const MAX_MS = 200;

/** The regular expressions that a file writes out. */
function expressionsIn(file) {
  const expressions = [];
  const visit = (node) => {
    const [, source, flags] =
      /^\/(.*)\/(\w*)$/s.exec(ts.isRegularExpressionLiteral(node) ? node.text : "") ?? [];
    if (source !== undefined) expressions.push(new RegExp(source, [...new Set(`${flags}g`)].join("")));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest));
  return expressions;
}

const files = ["lib", "pi-extension"].flatMap((folder) => {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.m?js$/.test(name)).map((name) => join(ROOT, folder, name));
});
/** The expressions that files of data hold: those that read errors. */
const inTables = [
  ...Object.values(require("../lib/sessions/database_errors.json")).map(
    ({ sentence, ...patterns }) => patterns,
  ),
  ...require("../lib/native/advice.json").rows.map(({ hint, ...patterns }) => patterns),
].flatMap((patterns) => Object.values(patterns).map((pattern) => new RegExp(pattern, "g")));
const expressions = [...files.flatMap(expressionsIn), ...inTables];

const patterns = ["**/*-*-*.md", "**/a/**/b/**/c", "*a*a*a*a*b"];
const isProtected = pathProtection(patterns, "/");
const protects = (path) =>
  isProtected({ content: [{ type: "toolCall", id: "a", arguments: { path: path.slice(0, 4000) } }] });

/** What reads a text, with the source of the expression that it reads by. */
const readers = [
  ...expressions.map((expression) => [(text) => text.replace(expression, ""), expression.source]),
  ...contract.refusals.map(({ pattern }) => [readRefusal, pattern]),
  [readPairs, '{"q":"\\"}'],
  [protects, patterns.join("")],
];

/** Letters, words and signs of an expression, and what its classes match. */
const piecesOf = (source) => [...new Set(source.match(/\p{L}+|\d+|[^\p{L}\d]/gu)), "a", "1", "_", " ", "\n"];

function assertFast(read, part, source) {
  const start = process.cpuUsage();
  read(part.repeat(Math.ceil(TEXT_UNITS / part.length)));
  const { user, system } = process.cpuUsage(start);
  assert.ok(user + system < MAX_MS * 1000, `${JSON.stringify(part)} repeated, by ${source}`);
}

test("every expression reads repeated pieces of itself in time by their length", () => {
  assert.ok(expressions.length > 100, `${expressions.length} expressions`);
  for (const [read, source] of readers) for (const piece of piecesOf(source)) assertFast(read, piece, source);
  const numbers = fc.array(fc.nat(), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(fc.constantFrom(...readers), numbers, ([read, source], chosen) => {
      const pieces = piecesOf(source);
      assertFast(read, chosen.map((number) => pieces[number % pieces.length]).join(""), source);
    }),
    { numRuns: 3000 },
  );
});

test("so do an error's words, a summariser's answer and a call's path", () => {
  for (const part of ["exceed", "overflow", "max_", "_exceeded_limit_", "\\"]) assertFast(readRefusal, part);
  for (const part of ['{\\"', '{"', "{"]) assertFast(readPairs, part);
  for (const part of ["a-", "a/b/", "a"]) assertFast(protects, part);
});

test("a refusal of a request of unknown size teaches pi's extension only a limit that it names", () => {
  const refusal = (errorMessage, timestamp) => ({
    type: "message",
    message: answer([], { provider: "p", model: "m", stopReason: "error", errorMessage, timestamp }),
  });
  const entries = [refusal("prompt is too long", 1), refusal("429 Too many tokens, please wait", 2)];
  const record = recordOf({ getEntries: () => entries });
  const limit = (sizes) => record.limit({ provider: "p", id: "m" }, new Map(sizes), 0);
  assert.deepEqual([limit([]), limit([[1, 0]]), limit([[1, 40_000]])], [undefined, undefined, 40_192]);
  entries.push(refusal("prompt is too long: 50000 tokens > 30000 maximum", 3));
  assert.deepEqual([limit([]), limit([[3, 25_000]])], [30_000, 15_000]);
});

test("pi's extension reads each error of a session once", () => {
  let reads = 0;
  const message = answer([], { provider: "p", model: "m", stopReason: "error" });
  Object.defineProperty(message, "errorMessage", {
    get() {
      reads += 1;
      return "prompt is too long: 71234 tokens > 65536 maximum";
    },
  });
  const record = recordOf({ getEntries: () => [{ type: "message", message }] });
  for (let i = 0; i < 2; i += 1) assert.equal(record.limit({ provider: "p", id: "m" }, new Map(), 0), 65_536);
  assert.equal(reads, 1);
});
