// The wire checkers: they pass requests as pi sends them, and each rule objects to some request of which one place was broken.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { authors } from "./support/authors.mjs";
import { conversation } from "./support/conversation.mjs";
import { dice } from "./support/transcripts.mjs";
import { introduced, judge, rulesOf } from "./support/wire/judge.mjs";
import { PiWire } from "./support/wire/pi.mjs";

/** Sessions of each author, and broken forms of the request that each makes; the same in every run. */
const [SESSIONS, FORMS] = [{ numRuns: 200, seed: 1 }, 400];
/** Characters of a request that is small enough to be broken at most of its places. */
const SMALL = 6000;
const BOUND = { ...authors[0], model: "claude-opus-5-5" };

const put = (value) => (holder, key) =>
  typeof holder[key] === "string" && Object.assign(holder, { [key]: value });
const inList = (change) => (holder, key) => Array.isArray(holder) && change(holder, Number(key));
/** Ways to break a place of a request, `holder[key]`. */
const BREAKS = [
  ...[" ", "x", "call|fc", "\ud83d"].map(put),
  inList((list, at) => list.splice(at, 1)),
  inList((list, at) => list.splice(at, 0, structuredClone(list[at]))),
  inList((list, at) => list.splice(at, 2, ...list.slice(at, at + 2).reverse())),
  inList((list, at) => list.splice(at + 1)),
  (holder, key) => /^(tools|reasoning_content|thoughtSignature)$/.test(key) && delete holder[key],
  (holder) => holder.functionCall && Object.assign(holder, { thoughtSignature: "c2ln" }),
  (_holder, _key, body) => body.messages?.push({ role: "assistant", content: "I think " }),
  (_holder, _key, body) => body.messages?.push({ role: "user", content: "Wait." }),
];

/** The paths of all places of a request. */
function placesOf(value, path = []) {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => [[...path, key], ...placesOf(value[key], [...path, key])]);
}

const wire = await PiWire.load("0.74.2");

/** The rules that see something in broken forms of an author's requests. */
async function seenOf(author) {
  const roll = dice(1);
  const seen = new Set();
  for (const messages of fc.sample(conversation(author), SESSIONS)) {
    const body = await wire.payloadOf(author, messages);
    if (JSON.stringify(body).length > SMALL || judge(author.api, body, body).length > 0) continue;
    const places = placesOf(body);
    for (let form = 0; form < FORMS; form += 1) {
      const broken = structuredClone(body);
      const path = places[roll(places.length)];
      const holder = path.slice(0, -1).reduce((value, key) => value[key], broken);
      BREAKS[roll(BREAKS.length)](holder, path.at(-1), broken);
      for (const objection of introduced(author.api, broken, body)) seen.add(objection.split(": ")[0]);
    }
  }
  return seen;
}

for (const [api, rules] of Object.entries(rulesOf)) {
  test(`each rule of ${api} sees what breaks it`, async () => {
    const seen = new Set();
    for (const author of [...authors, BOUND].filter((one) => one.api === api))
      for (const rule of await seenOf(author)) seen.add(rule);
    assert.deepEqual([...seen].sort(), Object.keys(rules).sort());
  });
}
