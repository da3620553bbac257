// The closed loop over generated conversations: hosts that compact, branch, edit, clone, go on with other models, and
// providers that lie. 10 000 calls a run; more by PI_STRATA_LIVE_CALLS, others by PI_STRATA_FIRST, the seed of the first
// conversation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { playSession } from "./support/live/sessions.mjs";
import { table } from "./support/tables.mjs";

const CALLS = Number(process.env.PI_STRATA_LIVE_CALLS ?? 10_000);
const FIRST = Number(process.env.PI_STRATA_FIRST ?? 0);
const CALLS_PER_SESSION = 60;
/** One conversation of so many goes on with models of other windows and encodings; all with PI_STRATA_LIVE_SWITCHES=1. */
const SWITCHES_EVERY = Number(process.env.PI_STRATA_LIVE_SWITCHES ?? 4);
/** Conversations under way at once. */
const WIDTH = 8;
/** Broken calls that are told of. */
const MOST_TOLD = 20;

/**
 * Conversations in which something was broken once, by what: steps learned from a prompt that was counted wrong, calls
 * that another schedule planned, a model or nonsense reported right after an edit, a branch back to before an edit, an
 * answer right behind a summary. Where the host switches: conversations lost at a branch or a model's first answer, refusals taken
 * for ever more.
 */
const { alone: ONCE_BROKEN, switching: ONCE_BROKEN_BY_SWITCHES } = table("once-broken.json");

test("conversations in which something broke once break no more", async () => {
  const sessions = [
    ...ONCE_BROKEN.map((seed) => [seed, false]),
    ...ONCE_BROKEN_BY_SWITCHES.map((seed) => [seed, true]),
  ];
  for (const [seed, switches] of sessions) {
    const { broken } = await playSession(seed, CALLS_PER_SESSION, { switches });
    assert.deepEqual(broken, []);
  }
});

test(`${CALLS} calls of the closed loop break nothing`, async (t) => {
  const sessions = Math.ceil(CALLS / CALLS_PER_SESSION);
  const broken = [];
  let seed = FIRST;
  let calls = 0;
  const worker = async () => {
    while (seed < FIRST + sessions) {
      const switches = seed % SWITCHES_EVERY === 0;
      const played = await playSession(seed++, CALLS_PER_SESSION, { switches });
      calls += played.calls;
      broken.push(...played.broken);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  assert.deepEqual(broken.slice(0, MOST_TOLD), [], `${broken.length} broken of ${calls} calls`);
  t.diagnostic(`${calls} calls of ${sessions} conversations, nothing broken`);
});
