// What the host protects goes out as the very object it is, with its call or its results, under both schedules and over any
// window; everything else is treated as without it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext, validate } from "../index.js";
import { conversation, dice } from "./support/transcripts.mjs";

const WINDOWS = [600, 2500, 12_000];

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: protected messages stay as they are`, async () => {
    let kept = 0;
    for (let seed = 0; seed < 150; seed += 1) {
      const roll = dice(seed);
      const messages = conversation(seed, { length: 40 + roll(60) });
      const chosen = new Set(messages.filter(() => roll(12) === 0));
      const asked = new Map();
      const protect = (message) => {
        asked.set(message, (asked.get(message) ?? 0) + 1);
        return chosen.has(message);
      };
      const contextWindow = WINDOWS[seed % WINDOWS.length];
      const options = { schedule, contextWindow, reserveTokens: 0, keepRecentMessages: 4 };
      const hook = createTransformContext({ ...options, protect });
      const sent = await hook(messages);
      await hook(messages);
      const without = await createTransformContext(options)(messages);
      if (validate(messages).length === 0 && validate(without).length === 0)
        assert.deepEqual(validate(sent, "anthropic-messages"), []);
      assert.ok(Array.from(asked.values()).every((times) => times === 1));
      for (const message of chosen) {
        if (isOrphan(message, messages)) continue;
        assert.ok(sent.includes(message), `seed ${seed}: a ${message.role} message`);
        kept += Number(!without.includes(message));
      }
    }
    assert.ok(kept > 50, `only ${kept} messages needed protection`);
  });
}

test("where protect throws, everything is protected", async () => {
  const messages = conversation(7, { length: 80 });
  const protect = () => {
    throw new Error("no");
  };
  const hook = createTransformContext({
    schedule: "everyCall",
    contextWindow: 600,
    reserveTokens: 0,
    protect,
  });
  assert.equal(await hook(messages), messages);
});

/** Results of an answer that failed are left out, whoever protects them: a provider refuses the request over one. */
function isOrphan({ role, toolCallId }, messages) {
  if (role !== "toolResult") return false;
  const caller = messages.findLast(
    (message) => Array.isArray(message.content) && message.content.some(({ id }) => id === toolCallId),
  );
  return caller === undefined || ["error", "aborted"].includes(caller.stopReason);
}

test("of a host that clones, a copy is asked about again only if it holds something else", async () => {
  const asked = [];
  const protect = ({ timestamp, details }) => {
    asked.push(timestamp);
    return details.isPinned === true;
  };
  const options = {
    schedule: "everyCall",
    contextWindow: WINDOWS[0],
    reserveTokens: 0,
    keepRecentMessages: 4,
  };
  const hook = createTransformContext({ ...options, protect });
  const messages = structuredClone(conversation(3, { length: 60 }));
  for (let call = 0; call < 3; call += 1) await hook(structuredClone(messages));
  asked.length = 0;
  const plain = await hook(structuredClone(messages));
  assert.deepEqual(asked, []);
  const gone = messages.find(
    ({ role, timestamp }) => role === "user" && plain.every((sent) => sent.timestamp !== timestamp),
  );
  gone.details.isPinned = true;
  const copies = structuredClone(messages);
  const sent = await hook(copies);
  assert.ok(sent.includes(copies[messages.indexOf(gone)]));
});
