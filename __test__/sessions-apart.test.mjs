// Many sessions side by side, their calls interleaved: each gets what it would get alone, and no word of another's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext } from "../index.js";
import { conversation, dice } from "./support/transcripts.mjs";

const SESSIONS = 100;
/** Turns of each session; 1000 in the full run. */
const TURNS = Number(process.env.PI_STRATA_TURNS ?? 100);
/** Messages a session keeps: a host starts a new conversation then. */
const KEPT = 60;

const options = { schedule: "everyCall", contextWindow: 3000, reserveTokens: 200, keepRecentMessages: 4 };

test(`${SESSIONS} sessions of ${TURNS} turns, interleaved`, async (t) => {
  const shared = createTransformContext(options);
  const session = async (number) => {
    const mark = `session-${number}-`;
    const roll = dice(number);
    const own = number % 2 === 0 ? shared : createTransformContext(options);
    let script = [];
    let live = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      if (script.length === 0) {
        script = conversation(number * TURNS + turn, { length: KEPT, mark });
        // A hook is asked before the first answer, so a conversation begins with a question.
        live = script.splice(0, 1 + script.findIndex(({ role }) => role === "user"));
      } else live.push(...script.splice(0, 1 + roll(4)));
      const sent = await own(live);
      for (const other of JSON.stringify(sent).matchAll(/session-(\d+)-/g)) {
        assert.equal(Number(other[1]), number);
      }
      if (turn % 25 === 0)
        assert.deepEqual(sent, await createTransformContext(options)(structuredClone(live)));
    }
  };
  await Promise.all(Array.from({ length: SESSIONS }, (_, number) => session(number)));
  t.diagnostic(`${SESSIONS * TURNS} turns, no cross-talk`);
});
