// The context engine that OpenClaw loads from this package, in a host of thirty lines: `node examples/openclaw.mjs`. It needs no
// key. In OpenClaw itself the lines of configuration in docs/openclaw.md are all there is.
import { countTokens } from "pi-strata";
import plugin from "pi-strata/openclaw";

let factory;
plugin.register({
  pluginConfig: { marker: "en" },
  registerContextEngine: (_id, makeEngine) => {
    factory = makeEngine;
  },
});

const session = { sessionId: "s", sessionKey: "agent:main:main" };
const transcript = [];
let time = Date.now();
const say = (message) => {
  time += 60_000;
  transcript.push({ timestamp: time, ...message });
};
let last;

for (let day = 1; day <= 60; day += 1) {
  const engine = factory({});
  last = await engine.assemble({ ...session, messages: structuredClone(transcript), tokenBudget: 32_000 });
  const usage = { input: countTokens(last.messages) + 4_000, cacheRead: 0, cacheWrite: 0, output: 60 };
  const report = Array.from(
    { length: 60 },
    (_, hour) => `day ${day}, sensor ${hour}: ${(day * hour) % 37} degrees`,
  ).join("\n");
  say({ role: "user", content: `What did the sensors say on day ${day}?` });
  say({
    role: "assistant",
    content: [{ type: "toolCall", id: `c${day}`, name: "sensors", arguments: { day } }],
    ...{
      api: "anthropic-messages",
      provider: "anthropic",
      model: "claude-sonnet-4-5",
      usage,
      stopReason: "toolUse",
    },
  });
  say({
    role: "toolResult",
    toolCallId: `c${day}`,
    toolName: "sensors",
    content: [{ type: "text", text: report }],
  });
  say({ role: "assistant", content: [{ type: "text", text: `Day ${day} was mild.` }], stopReason: "stop" });
  await engine.commitTurn({ ...session, advancementKey: `turn-${day}`, messages: transcript.slice(-4) });
}

console.log(`${transcript.length} messages of ${countTokens(transcript)} tokens`);
console.log(`the last request: ${countTokens(last.messages)} tokens`);
const questions = last.messages.filter(({ role }) => role === "user").length;
console.log(`questions in view: ${questions} of 59`);
