// What pi summarises, on recorded sessions that no host ever compacted: what the model saw, against the uncut list.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { countTokens, createTransformContext } from "../index.js";
import { billOf } from "../lib/cli/report/play.mjs";
import { loadSession } from "../lib/cli/session.mjs";
import { seeAsSent, sentOf } from "../pi-extension/compaction.mjs";
import { codingAgents } from "./coding-agent/pi.mjs";
import { compacted } from "./support/live/compaction.mjs";
import { estimatesBy, uncompacted } from "./support/recordings.mjs";
import { conversation } from "./support/transcripts.mjs";

const SESSIONS = join(homedir(), ".cache/strata-sessions");
const PRICES = { input: 5, read: 0.5, write: 6.25, ttlSeconds: 300 };
const WINDOW = 200_000;
const { convertToLlm, findCutPoint, serializeConversation } = await codingAgents["0.74.2"]();
/** pi keeps this many of its tokens. */
const KEEP_RECENT_TOKENS = 20_000;

const paths = existsSync(SESSIONS)
  ? ["pi", "cc"].flatMap((kind) =>
      readdirSync(join(SESSIONS, kind)).map((file) => join(SESSIONS, kind, file)),
    )
  : [];

/** What pi shows the model that summarises. */
const inputOf = (messages) => countTokens(serializeConversation(convertToLlm(messages)));

test("on recorded sessions a summary's input is at most 0.6 of what it was", {
  skip: paths.length === 0 && "no recorded sessions here",
}, async (t) => {
  let [before, after] = [0, 0];
  for (const path of paths) {
    const { messages } = uncompacted(await loadSession(path));
    const hook = createTransformContext({ contextWindow: WINDOW, marker: "en", recall: true });
    let last;
    const policy = async (list) => {
      last = { messages: list, sent: await hook(list) };
      return last.sent;
    };
    const terms = { contextWindow: WINDOW, prices: PRICES };
    const estimates = await estimatesBy(messages, { ...terms, scale: 1.27 });
    await billOf(messages, policy, { ...terms, estimates });
    const entries = last.messages.map((message, i) => ({ type: "message", id: String(i), message }));
    const { firstKeptEntryIndex: cut } = findCutPoint(entries, 0, entries.length, KEEP_RECENT_TOKENS);
    const messagesToSummarize = last.messages.slice(0, cut);
    const whole = inputOf(messagesToSummarize);
    const preparation = { messagesToSummarize, firstKeptEntryId: String(cut) };
    seeAsSent(preparation, sentOf(last));
    const seen = inputOf(preparation.messagesToSummarize);
    assert.equal(preparation.firstKeptEntryId, String(cut));
    t.diagnostic(`${path.slice(SESSIONS.length + 1)}: ${whole} → ${seen}, ${(seen / whole).toFixed(2)}`);
    assert.ok(seen < whole, path);
    before += whole;
    after += seen;
  }
  t.diagnostic(`all: ${before} → ${after}, ${(after / before).toFixed(2)}`);
  assert.ok(after <= 0.6 * before);
});

test("what is left out, edited or alike is told apart, and a list of which nothing is left stays", () => {
  const user = (content, timestamp) => ({ role: "user", content, timestamp });
  const [a, b, c, twin] = [user("a", 1), user("b", 2), user("c", 3), user("d", 3)];
  const sent = sentOf({ messages: [a, b, c, twin], sent: [{ ...a, content: "A" }, c, twin] });
  const lists = {
    messagesToSummarize: [{ ...a }, { ...b }, user("other", 9)],
    turnPrefixMessages: [{ ...b }],
  };
  seeAsSent(lists, sent);
  assert.deepEqual(lists.messagesToSummarize, [user("A", 1), user("other", 9)]);
  assert.deepEqual(lists.turnPrefixMessages, [b]);
  const entriesToSummarize = [
    { type: "message", id: "1", message: { ...a } },
    { type: "label", id: "2" },
    { type: "message", id: "3", message: c },
    { type: "message", id: "4", message: b },
  ];
  seeAsSent({ entriesToSummarize }, sent);
  assert.deepEqual(entriesToSummarize, [
    { type: "message", id: "1", message: user("A", 1) },
    { type: "label", id: "2" },
    { type: "message", id: "3", message: c },
  ]);
  for (const odd of [undefined, null, 7]) seeAsSent({ messagesToSummarize: odd }, sent);
});

test("the host of the closed loop compacts where pi does", () => {
  const roles = new Set(["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary"]);
  for (let seed = 0; seed < 200; seed += 1) {
    const messages = conversation(seed, { length: 60 }).filter(({ role }) => roles.has(role));
    const entries = messages.map((message, at) => ({ type: "message", id: String(at), message }));
    for (const keep of [50, 400, 2000, 1e6]) {
      const { firstKeptEntryIndex } = findCutPoint(entries, 0, entries.length, keep);
      const [, ...kept] = compacted(messages, keep, { role: "compactionSummary", summary: "" });
      assert.deepEqual([seed, keep, kept.length], [seed, keep, messages.length - firstKeptEntryIndex]);
    }
  }
});
