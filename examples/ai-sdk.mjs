// The hook as the `prepareStep` of the AI SDK: `node examples/ai-sdk.mjs`. It needs no key and no SDK: a loop calls
// `prepareStep` as `ToolLoopAgent` does, with a scripted model. With the SDK the last lines of docs/ai-sdk.md are all there is.
import { countTokens } from "pi-strata";
import { createPrepareStep } from "pi-strata/ai-sdk";

const STEPS = 40;
const model = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
const prepareStep = createPrepareStep({ contextWindow: 200_000, marker: "en" });

const logOf = (n) =>
  Array.from({ length: 300 }, (_, i) => `log ${n}, line ${i}: request took ${(i * n) % 90} ms`).join("\n");
const messages = [{ role: "user", content: "Which log holds the slowest request?" }];
const steps = [];
let whole = 0;
let sent = 0;

for (let n = 1; n <= STEPS; n += 1) {
  const prepared = await prepareStep({ messages: messages.slice(), steps, model });
  const inputTokens = countTokens(prepared.messages);
  whole += countTokens(messages);
  sent += inputTokens;
  messages.push(
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: `c${n}`, toolName: "readLog", input: { n } }],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: `c${n}`,
          toolName: "readLog",
          output: { type: "text", value: logOf(n) },
        },
      ],
    },
  );
  steps.push({
    usage: { inputTokens, outputTokens: 40, inputTokenDetails: {} },
    response: { timestamp: new Date() },
  });
}

const { messages: last } = await prepareStep({ messages, steps, model });
const same = last.filter((message) => messages.includes(message)).length;
console.log(`${messages.length} messages, of which ${same} are sent as the same objects`);
console.log(`${whole} tokens without the hook, ${sent} sent in ${STEPS} steps`);
console.log(`the newest result is whole: ${last.at(-1) === messages.at(-1)}`);
