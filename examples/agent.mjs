// An agent with the hook, runnable as it is: `node examples/agent.mjs`. The model is a script (no network, no key);
// the agent, its tools and what they read from this repository are real. Each request prints one line: what the
// agent's own transcript holds, and what the model was sent.
import { fileURLToPath } from "node:url";
import { Agent } from "@earendil-works/pi-agent-core";
import { createTransformContext } from "pi-strata";
import { createScriptedModel, scriptedModel } from "./scripted/model.mjs";
import { SYSTEM_PROMPT, script, tasks } from "./scripted/tasks.mjs";
import { createTools } from "./scripted/tools.mjs";

const requests = [];

const agent = new Agent({
  initialState: {
    systemPrompt: SYSTEM_PROMPT,
    model: scriptedModel,
    tools: createTools(fileURLToPath(new URL("..", import.meta.url))),
  },
  streamFn: createScriptedModel(script()).streamFn,
  transformContext: createTransformContext({
    contextWindow: () => agent.state.model.contextWindow,
    marker: "auto",
    // The model would take 200 000: a prompt of this size is cheaper, and shows what the hook does.
    maxPromptTokens: 60_000,
    onEvent: (event) => event.type === "transformed" && requests.push(event),
  }),
});

agent.subscribe((event) => {
  if (event.type !== "message_end" || event.message.role !== "assistant") return;
  const { messagesBefore, messagesAfter, tokensBefore, tokensAfter } = requests.at(-1);
  const request = `${String(requests.length).padStart(4)}  ${messagesBefore} → ${messagesAfter} messages`;
  console.log(`${request.padEnd(30)}${tokensBefore} → ${tokensAfter} tokens`);
});

for (const { ask } of tasks) {
  console.log(`\n> ${ask}`);
  await agent.prompt(ask);
}

const sum = (key) => requests.reduce((total, request) => total + request[key], 0);
const [before, after] = [sum("tokensBefore"), sum("tokensAfter")];
console.log(`\n${requests.length} requests: ${before} tokens without the hook, ${after} sent`);
console.log(`The agent still holds all ${agent.state.messages.length} messages, as they were.`);
