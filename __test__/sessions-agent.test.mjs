// Sessions and a real Agent: what it says, calls and gets comes in by itself, and goes back as messages it can go on with.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Agent } from "@earendil-works/pi-agent-core";
import {
  ContextManager,
  fromAgentMessage,
  fromOpenAIMessages,
  toAgentMessages,
  toOpenAIMessages,
} from "pi-strata/sessions";
import { createScriptedModel, scriptedModel } from "../examples/scripted/model.mjs";
import { createTools } from "../examples/scripted/tools.mjs";
import strata from "../index.js";
import { fieldsOf } from "./support/fields.mjs";
import { ROOT } from "./support/root.mjs";
import { calls, result, says, user } from "./support/said.mjs";
import { table } from "./support/tables.mjs";

const { validate } = strata;
const LABEL = "[上下文总结]";

const agentOf = ({ streamFn }) =>
  new Agent({ initialState: { model: scriptedModel, tools: createTools(ROOT) }, streamFn });

test("attach: an agent's messages come into the session by themselves, and back", async () => {
  const model = createScriptedModel([
    {
      thinking: "hm",
      text: "Reading.",
      calls: [{ name: "read", arguments: { path: "Cargo.toml", limit: 2 } }],
    },
    { calls: [{ name: "read", arguments: { path: "none" } }] },
    { text: "It is a crate." },
  ]);
  const agent = agentOf(model);
  const manager = new ContextManager();
  const detach = manager.attach(agent, "s");
  await agent.prompt("What is this?");
  detach();
  const messages = await manager.getMessages("s");
  assert.equal(fieldsOf(messages, "role").join(" "), "user assistant tool assistant tool assistant");
  assert.match(messages[2].content, /\[workspace\]/);
  assert.deepEqual([messages[2].isError, messages[4].isError], [false, true]);
  assert.deepEqual(messages[1].toolCalls, [
    { id: "call_1", name: "read", arguments: { path: "Cargo.toml", limit: 2 } },
  ]);
  const back = toAgentMessages(messages, scriptedModel);
  assert.deepEqual(validate(back), []);
  const bare = ({ role, content, toolCallId, toolName, isError }) => ({
    role,
    content: content.filter(({ type }) => type !== "thinking"),
    toolCallId,
    toolName,
    isError,
  });
  assert.deepEqual(back.map(bare), agent.state.messages.map(bare));
  assert.deepEqual(
    back.map(fromAgentMessage).map(({ timestamp, ...rest }) => rest),
    messages.map(({ timestamp, id, ...rest }) => rest),
  );
  agent.state.messages = back;
  await agent.prompt("And now?");
  assert.equal((await manager.getMessages("s")).length, 6, "detached");
});

test("what cannot be sent is not made: orphan results, a summary at the beginning", () => {
  const messages = [
    says(`${LABEL} before`),
    result("gone", "x"),
    user("go"),
    calls("1", "ls"),
    result("1", "a"),
  ];
  const back = toAgentMessages(messages);
  assert.deepEqual(fieldsOf(back, "role"), ["user", "user", "assistant", "toolResult"]);
  assert.deepEqual(validate(back), []);
  const half = { role: "assistant", content: [{ type: "text", text: "Half an ans" }] };
  const unsent = ["error", "aborted"].map((stopReason) => ({ ...half, stopReason }));
  const odd = [undefined, null, {}, { role: "custom" }, { role: "assistant", content: [] }, 7, ...unsent];
  for (const message of odd) {
    assert.equal(fromAgentMessage(message), undefined);
  }
});

test("a resumed session names no item of OpenAI's Responses, and keeps Gemini's signatures", () => {
  const call = { type: "toolCall", id: "call_1|fc_1", name: "read", arguments: {}, thoughtSignature: "c2ln" };
  const thinking = { type: "thinking", thinking: "hm", thinkingSignature: '{"id":"rs_1"}' };
  const content = [{ type: "text", text: "x" }];
  const list = [
    { role: "user", content },
    { role: "assistant", content: [thinking, call] },
    { role: "toolResult", toolCallId: call.id, content },
  ];
  const back = toAgentMessages(list.map(fromAgentMessage), { api: "openai-responses" });
  assert.deepEqual(back[1].content, [{ ...call, id: "call_1" }]);
  assert.equal(back[2].toolCallId, "call_1");
});

test("ids of calls that begin alike stay different", () => {
  const ids = ["grep|1", "grep|2", "ls", "ls|1", "|1"];
  const answers = ids.map((id) => result(id, id));
  const asked = { ...says(""), toolCalls: ids.map((id) => ({ id, name: "grep", arguments: "{}" })) };
  const [, assistant, ...results] = toAgentMessages([user("go"), asked, ...answers]);
  const sent = ["grep", "grep|2", "ls", "ls|1", "|1"];
  assert.deepEqual(fieldsOf(assistant.content, "id"), sent);
  assert.deepEqual(fieldsOf(results, "toolCallId"), sent);
});

test("parts of OpenAI's messages that pi has no block for become text, and parts again", () => {
  const { messages, contents } = table("openai-parts.json");
  const back = toAgentMessages(fromOpenAIMessages(messages));
  const sent = back.map(({ content }) => content.map(({ part, ...block }) => block));
  assert.deepEqual(sent, contents);
  assert.deepEqual(toOpenAIMessages(back), messages);
});

test("what pi sends in other roles comes in as the user's words", () => {
  const note = { role: "custom", customType: "note", content: [{ type: "text", text: "a note" }] };
  const run = { role: "bashExecution", command: "ls", output: "a.md" };
  const summary = { role: "branchSummary", summary: "before" };
  assert.deepEqual(
    [note, { ...note, content: "a note" }, run, summary].map(fromAgentMessage),
    ["a note", "a note", "$ ls\na.md", "before"].map(user),
  );
  assert.equal(fromAgentMessage({ ...run, excludeFromContext: true }), undefined);
});

test("a session that is compressed while an agent works stays whole, and the agent can go on from it", async () => {
  const read = (path) => ({ name: "read", arguments: { path, limit: 3 } });
  const steps = Array.from({ length: 60 }, (_, n) => ({
    text: `Step ${n}.`,
    calls: n % 3 === 0 ? [read("Cargo.toml"), read("package.json")] : [read("Cargo.toml")],
  }));
  const model = createScriptedModel([...steps, { text: "Done." }, { text: "Going on." }]);
  const agent = agentOf(model);
  const events = [];
  const manager = new ContextManager({ onEvent: (event) => events.push(event) });
  await manager.getOrCreateContext("s", "You work.");
  manager.attach(agent, "s");
  // A model takes its time: more than a compression does.
  agent.subscribe(async ({ type }) => {
    while (type === "turn_end" && (await manager.getMessages("s")).length > 50) await setTimeout(1);
  });
  await agent.prompt("Read both files many times.");
  assert.ok(events.length >= 3 && events.every(({ type }) => type === "compressed"), JSON.stringify(events));
  const messages = await manager.getMessages("s", false);
  assert.ok(messages.length <= 51, `${messages.length} messages`);
  assert.match(messages[0].content, /1\. Read both files many times\./);
  assert.match(messages[0].content, /Tools used: read ×\d+/);
  assert.equal(messages.filter(({ content }) => content.startsWith(LABEL)).length, 1);
  const back = toAgentMessages(messages, scriptedModel);
  assert.deepEqual(validate(back), []);
  agent.state.messages = back;
  await agent.prompt("Go on.");
  assert.equal(agent.state.messages.at(-1).content[0].text, "Going on.");
});
