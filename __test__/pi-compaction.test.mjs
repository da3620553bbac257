// What pi summarises is what the model saw, and the test host cuts where pi does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { seeAsSent, sentOf } from "../pi-extension/compaction.mjs";
import { codingAgents } from "./coding-agent/pi.mjs";
import { compacted } from "./support/live/compaction.mjs";
import { conversation } from "./support/transcripts.mjs";

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
  const said = { role: "assistant", timestamp: 4, content: [{ type: "text", text: "I read it." }] };
  const calls = [{ type: "toolCall", id: "a", name: "read", arguments: { path: "a.rs" } }];
  const reading = { ...said, timestamp: 5, content: [...said.content, ...calls] };
  const leftOut = sentOf({ messages: [a, said, reading], sent: [a] });
  const entries = [a, said, reading].map((message) => ({ type: "message", message }));
  seeAsSent({ entriesToSummarize: entries }, leftOut);
  const kept = entries.map(({ message }) => message);
  assert.deepEqual(kept, [a, { ...reading, content: calls }], "pi reads the files of calls there");
  for (const odd of [undefined, null, 7]) seeAsSent({ messagesToSummarize: odd }, sent);
});

test("the host of the closed loop compacts where pi does", async () => {
  const { findCutPoint } = await codingAgents["0.74.2"]();
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
