// An extension of pi that masks old tool results, with the policy the tables of `bench:economy` compare.

import { maskBatches } from "../../economy/yardsticks.mjs";

/** Half of what that policy keeps and gathers in a window of 200 000 tokens: sessions here are shorter. */
const MASK = { keep: 10, batch: 20 };

export default function mask(pi) {
  const policy = maskBatches(MASK);
  // pi hands over new copies at each call, and the policy knows a result by its object.
  const results = new Map();
  const known = (message) => {
    if (message.role !== "toolResult") return message;
    if (!results.has(message.toolCallId)) results.set(message.toolCallId, message);
    return results.get(message.toolCallId);
  };
  pi.on("context", async ({ messages }) => ({ messages: await policy(messages.map(known)) }));
}
