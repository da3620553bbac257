// What pi summarises is what the model saw.

import assert from "node:assert/strict";
import { test } from "node:test";
import { seeAsSent, sentOf } from "../pi-extension/compaction.mjs";

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
