// Recorded sessions, call by call, through the hook and real pi-ai of every version to the providers' rules: to the
// model that answered then, and to one of each other protocol, as after a change of model.
//
// PI_STRATA_SESSIONS names more files than the repository's own, with colons between; WIRE_EVERY is 1 for every call.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadSession } from "../lib/cli/session.mjs";
import { authors } from "./support/authors.mjs";
import { forEachPi } from "./support/each-pi.mjs";
import { deepFreeze } from "./support/transcripts.mjs";
import { rulesOf } from "./support/wire/judge.mjs";
import { PiWire } from "./support/wire/pi.mjs";
import { Tally, Trial } from "./support/wire/trial.mjs";

const own = fileURLToPath(new URL("../examples/session.jsonl", import.meta.url));
const files = [own, ...(process.env.PI_STRATA_SESSIONS?.split(":") ?? [])];
/** Every nth call is tried. */
const EVERY = Number(process.env.WIRE_EVERY ?? 5);

const optionSets = [
  {},
  { schedule: "sticky" },
  { schedule: "everyCall", contextWindow: 24_000 },
  { schedule: "sticky", contextWindow: 24_000, economy: "thrifty" },
  { schedule: "everyCall", contextWindow: 4_000, reserveTokens: 500 },
];

/** Positions at which a call was made: each assistant message answers what stands before it. */
function callsOf(messages) {
  return messages.flatMap((message, index) => (message.role === "assistant" && index > 0 ? [index] : []));
}

/** The model that gave this answer, and one of each protocol it did not use. */
function recipients({ api, provider, model }) {
  const others = Object.keys(rulesOf).filter((other) => other !== api);
  const recorded = api in rulesOf ? [{ api, provider, model, thinks: "maybe" }] : [];
  return [...recorded, ...others.map((other) => authors.find((author) => author.api === other))];
}

async function tryCall(wire, answer, messages, tallies) {
  for (const author of recipients(answer)) {
    const trial = await Trial.open(wire, author, messages);
    for (const options of optionSets) {
      const verdict = await trial.of(options);
      assert.deepEqual(verdict.objections, [], `${author.api} ${JSON.stringify(options)}`);
      tallies[author.api] ??= new Tally();
      tallies[author.api].add(trial, verdict);
    }
  }
}

async function suite(version) {
  const wire = await PiWire.load(version);
  describe(`Recorded sessions over pi ${version}`, () => {
    for (const [i, file] of files.entries()) {
      test(`session ${i + 1} breaks no rule that it kept without the hook`, async (t) => {
        const messages = structuredClone((await loadSession(file)).messages);
        deepFreeze(messages);
        const calls = callsOf(messages).filter((_, call) => call % EVERY === 0);
        assert.ok(calls.length > 0);
        const tallies = {};
        for (const at of calls) await tryCall(wire, messages[at], messages.slice(0, at), tallies);
        for (const [api, tally] of Object.entries(tallies)) {
          t.diagnostic(`wire: session ${i + 1}, ${calls.length} calls, pi ${version} ${api}: ${tally}`);
        }
      });
    }
  });
}

await forEachPi(suite);
