// The context guard, as a function and in a worker's own loop: `node examples/guard.mjs`. No model is asked.
import { estimateTokens, getContextWindow } from "pi-strata";
import { createContextGuard, guardContext, truncateToolResult } from "pi-strata/guard";

const log = Array.from({ length: 4_000 }, (_, i) => `${i} GET /items/${i * 7} 200 in ${i % 90} ms`).join(
  "\n",
);
const cut = truncateToolResult(log);
console.log(
  `one tool result: ${log.length} → ${cut.length} characters, with ${/\.\.\. \[.*\] \.\.\./.exec(cut)[0]}`,
);

/** Ten questions, each answered from a log of its own. */
const messages = Array.from({ length: 10 }, (_, i) => [
  { role: "user", content: `Question ${i + 1}: what is slow?` },
  {
    role: "assistant",
    content: [{ type: "toolCall", id: `call-${i}`, name: "logs", arguments: { day: i } }],
  },
  { role: "toolResult", toolCallId: `call-${i}`, toolName: "logs", content: [{ type: "text", text: log }] },
  { role: "assistant", content: [{ type: "text", text: `Item ${i} is slow.` }] },
]).flat();

const options = {
  contextWindow: getContextWindow({ contextWindow: 16_000 }),
  onEvent: ({ message }) => console.log(message),
};
const guarded = guardContext(messages, options);
console.log(`${messages.length} → ${guarded.messages.length} messages`);
console.log(`${estimateTokens(messages)} → ${estimateTokens(guarded.messages)} tokens at 3 characters each`);
console.log(`the newest stays: ${guarded.messages.at(-1) === messages.at(-1)}`);

const hook = createContextGuard({ contextWindow: 16_000 });
console.log(`as a hook: ${(await hook(messages)).length} messages`);
