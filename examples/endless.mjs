// A conversation without an end, runnable as it is: `node examples/endless.mjs`. 200 questions go to one agent whose
// window holds about twenty of them; whenever it fills up, what was said becomes question and answer pairs and a new
// conversation begins with those. Every tenth question asks for something said shortly before, often on the other
// side of such a change: the answer can only come from the messages the model is sent. Conversations change between
// turns; within a long turn the hook keeps each request small. The model is a script, the
// agent is real. With pi-ai, the summariser is one line:
//   summarize: async (_, { prompt, ...request }) => textOf(await complete(model, user(prompt), request))
import { Agent } from "@earendil-works/pi-agent-core";
import { countTokens, createTransformContext } from "pi-strata";
import { RollingMemory } from "pi-strata/sessions";
import { createScriptedModel, scriptedModel } from "./scripted/model.mjs";

const QUESTIONS = 200;
const CONTEXT_WINDOW = 4_000;
/** A question about an earlier service looks this far back. */
const LOOK_BACK = 7;

const portOf = (service) => 8000 + ((service * 37) % 900);
const isRecall = (number) => number % 10 === 0;
const questionOf = (number) =>
  isRecall(number)
    ? `Question ${number}: which port was it again for service ${number - LOOK_BACK}?`
    : `Question ${number}: 请设置服务 service ${number}, and tell me its port.`;

let request = [];
let summaries = 0;
const roll = { overs: [], methods: [] };
const answers = [];

/** The scripted model: it knows what it has set up itself, and what it was sent. */
function* steps() {
  for (let number = 1; number <= QUESTIONS; number += 1) {
    if (isRecall(number)) {
      const port = new RegExp(`Service ${number - LOOK_BACK} listens on port (\\d+)`).exec(
        JSON.stringify(request),
      );
      yield { text: port ? `It was port ${port[1]}.` : "I do not know that any more." };
    } else {
      if (number % 4 === 0) yield { calls: [{ name: "configure", arguments: { service: number } }] };
      const details = `It restarts by itself, keeps its log for ${number % 30} days, and waits ${number % 9} s before it gives up.`;
      yield {
        text: `Service ${number} listens on port ${portOf(number)}. ${details} ${"Nothing else was changed. ".repeat(16)}`,
      };
    }
  }
}

/** Stands for a small model that summarises; now and then it does not do what it was asked. */
async function summarize(messages) {
  summaries += 1;
  if (summaries % 4 === 2) return "Certainly! The user asked about services and I answered.";
  if (summaries % 4 === 3) throw new Error("rate limited");
  const pairs = [];
  for (const { role, content } of messages) {
    if (role === "user") pairs.push({ q: content, a: "" });
    else pairs.at(-1).a = content.split(". ")[0];
  }
  return `\`\`\`json\n${JSON.stringify(pairs)}\n\`\`\``;
}

const memory = new RollingMemory({
  contextWindow: CONTEXT_WINDOW,
  summarize,
  onEvent: (event) => event.type === "new_conversation_with_summary" && roll.overs.push(event),
});

const scripted = createScriptedModel(steps(), { countTokens });
const agent = new Agent({
  initialState: {
    systemPrompt: "You run services.",
    model: { ...scriptedModel, contextWindow: CONTEXT_WINDOW },
    tools: [
      {
        name: "configure",
        label: "Configure",
        description: "Sets a service up.",
        parameters: { type: "object", properties: { service: { type: "number" } }, required: ["service"] },
        execute: async (_id, { service }) => ({
          content: [{ type: "text", text: `service ${service}: ${"ok ".repeat(60)}` }],
          details: {},
        }),
      },
    ],
  },
  // The memory begins a new conversation at 85 % of the window. The hook acts above that, within a long turn.
  transformContext: createTransformContext({
    contextWindow: CONTEXT_WINDOW,
    contextRatio: 0.9,
    reserveTokens: CONTEXT_WINDOW / 10,
    marker: "auto",
  }),
  streamFn: (model, context, options) => {
    request = context.messages;
    return scripted.streamFn(model, context, options);
  },
});

let largest = 0;
for (let number = 1; number <= QUESTIONS; number += 1) {
  const { messages } = await memory.beforePrompt(agent.state.messages, questionOf(number));
  agent.state.messages = messages;
  await agent.continue();
  largest = Math.max(largest, countTokens(request));
  answers.push(agent.state.messages.at(-1).content.find(({ type }) => type === "text")?.text ?? "");
  agent.state.messages = (await memory.afterReply(agent.state.messages)).messages;
}

const answered = answers.filter((text) => text !== "").length;
const recalls = answers.flatMap((text, index) => (isRecall(index + 1) ? [{ number: index + 1, text }] : []));
const right = recalls.filter(({ number, text }) => text === `It was port ${portOf(number - LOOK_BACK)}.`);
for (const [index, { summarizedCount, summary }] of roll.overs.entries()) {
  const { q, a } = JSON.parse(summary).at(-1);
  console.log(
    `new conversation ${index + 1}: ${summarizedCount} messages became memory; newest: ${q} → ${a.slice(0, 60)}`,
  );
}
console.log(
  `\n${answered} of ${QUESTIONS} questions answered through ${roll.overs.length} new conversations`,
);
console.log(`${right.length} of ${recalls.length} questions about earlier ones answered right`);
console.log(`largest request: ${largest} of ${CONTEXT_WINDOW} tokens`);
console.log(`remembered in the end: ${memory.history.length} pairs`);
for (const { q, a } of memory.history.slice(-3)) console.log(`  ${q}\n    ${a}`);
