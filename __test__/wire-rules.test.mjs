// The wire checkers: what providers take passes, and of requests with one thing broken each is seen by the rule it breaks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { introduced, judge, rulesOf } from "./support/wire/judge.mjs";

const HALF = "\ud83d";
const text = (value) => ({ type: "text", text: value });
const user = (...content) => ({ role: "user", content });
const assistant = (...content) => ({ role: "assistant", content });

const use = (id) => ({ type: "tool_use", id, name: "read", input: { path: "a" } });
const result = (id, content = "ok") => ({ type: "tool_result", tool_use_id: id, content });
const thinking = (signature) => ({ type: "thinking", thinking: `about ${signature}`, signature });
const CLAUDE = {
  model: "claude-sonnet-4-5",
  tools: [{ name: "read", input_schema: { type: "object" } }],
  thinking: { type: "enabled", budget_tokens: 1024 },
  messages: [
    user(text("go")),
    assistant(thinking("s1"), text("Both."), use("t1"), use("t2")),
    user(result("t1"), result("t2", [text("row"), { type: "image", source: {} }])),
    assistant(thinking("s2"), { type: "redacted_thinking", data: "r1" }, use("t3")),
    user(result("t3"), text("and now?")),
  ],
};
const BOUND = { ...CLAUDE, model: "claude-opus-5-5" };

const call = (id) => ({ id, type: "function", function: { name: "read", arguments: '{"path":"a"}' } });
const calling = (...ids) => ({ role: "assistant", content: null, tool_calls: ids.map(call) });
const tool = (id) => ({ role: "tool", tool_call_id: id, content: "ok" });
const CHAT = {
  model: "gpt-4o",
  messages: [
    { role: "system", content: "Be careful." },
    user(text("go")),
    ...[calling("c1", "c2"), tool("c2"), tool("c1")],
    { role: "assistant", content: "Read." },
    ...[user(text("again")), { ...calling("c3"), reasoning_content: "hm" }, tool("c3")],
  ],
};
const REASONER = { ...CHAT, model: "deepseek-reasoner", messages: CHAT.messages.slice(6) };

const says = (id, value) => ({ type: "message", ...assistant({ type: "output_text", text: value }), id });
const reasoning = (id) => ({ type: "reasoning", id, summary: [], encrypted_content: `sealed ${id}` });
const output = (n) => ({ type: "function_call_output", call_id: `c${n}`, output: "ok" });
const calls = (n) => ({ ...output(n), type: "function_call", id: `fc_x${n}`, name: "read", arguments: "{}" });
const RESPONSES = {
  model: "gpt-5",
  input: [
    ...[
      user(text("go")),
      reasoning("rs_1"),
      says("msg_a", "Both."),
      calls(1),
      calls(2),
      output(1),
      output(2),
    ],
    ...[
      reasoning("rs_2"),
      says("msg_b", "Done."),
      user(text("again")),
      reasoning("rs_3"),
      calls(3),
      output(3),
    ],
  ],
};

const asks = (name, more) => ({ functionCall: { name, args: {} }, ...more });
const signed = { thoughtSignature: "c2ln" };
const response = (name) => ({ functionResponse: { name, response: { output: "ok" } } });
const turn = (role, ...parts) => ({ role, parts });
const GEMINI = {
  model: "gemini-3-pro-preview",
  contents: [
    ...[turn("user", { text: "go" }), turn("model", asks("list")), turn("user", response("list"))],
    ...[turn("model", { text: "Listed." }), turn("user", { text: "again" })],
    turn("model", { thought: true, text: "hm" }, asks("read", signed), asks("list")),
    turn("user", response("read"), response("list")),
    ...[turn("model", asks("read", signed)), turn("user", response("read"))],
  ],
};

/** Requests that each provider takes, and by rule what breaks the first of them, or another one that is named. */
const REQUESTS = {
  "anthropic-messages": {
    valid: [CLAUDE, BOUND, { messages: [user(text("hi")), user(text("there"))] }],
    broken: {
      "A1 callsAnsweredNext": [({ messages }) => messages.splice(3, 0, user(messages[2].content.pop()))],
      "A2 resultsAnswerCalls": [({ messages }) => messages[4].content.unshift(result("t1"))],
      "A3 resultsComeFirst": [({ messages }) => messages[4].content.reverse()],
      "A3 callsComeLast": [({ messages }) => messages[1].content.push(text("done"))],
      "A4 callIdsUsable": [({ messages }) => Object.assign(messages[3].content[2], { id: "call|fc" })],
      "A5 nothingBlank": [({ messages }) => messages[1].content.splice(1, 1, text(" \n"))],
      "A6 prefillTrimmed": [({ messages }) => messages.push(assistant(text("I think ")))],
      "A7 latestThinkingUntouched": [({ messages }) => messages[3].content.shift()],
      "A7 thinkingUnchanged": [
        ({ messages }) => Object.assign(messages[1].content[0], { thinking: "about" }),
      ],
      "A8 surrogatesPaired": [({ messages }) => messages.push(user(result("t1", { [HALF]: 1 })))],
      "A9 userOpens": [({ messages }) => messages.shift()],
      "A10 signaturesStillBound": [
        ({ messages }) => Object.assign(messages[2].content[0], { content: "short" }),
        BOUND,
      ],
      "A11 toolsDeclared": [(body) => delete body.tools],
    },
  },
  "openai-completions": {
    valid: [CHAT, REASONER],
    broken: {
      "O1 resultsFollowCalls": [({ messages }) => messages.splice(7, 1)],
      "O2 callsAnsweredAtOnce": [({ messages }) => messages.splice(3, 1)],
      "O3 idsDistinct": [({ messages }) => Object.assign(messages[2].tool_calls[1], { id: "c1" })],
      "O4 nothingEmpty": [({ messages }) => Object.assign(messages[5], { content: null })],
      "O5 callsReadable": [
        ({ messages }) => Object.assign(messages[2].tool_calls[0].function, { arguments: '{"path":"a' }),
      ],
      "K1 reasoningStays": [({ messages }) => delete messages[7].reasoning_content],
      "K1 reasoningPresent": [({ messages }) => delete messages[1].reasoning_content, REASONER],
      "A8 surrogatesPaired": [({ messages }) => Object.assign(messages[3], { content: `cut ${HALF}` })],
    },
  },
  "openai-responses": {
    valid: [RESPONSES, { input: [user(text("hi")), says("msg_pi_1", "no reasoning"), user(text("on"))] }],
    broken: {
      "R1 callsAnswered": [({ input }) => input.splice(6, 1)],
      "R1 outputsAnswerCalls": [({ input }) => input.splice(4, 1)],
      "R2 callsKeepReasoning": [({ input }) => input.splice(10, 1, reasoning("rs_9"))],
      "R2 messagesKeepReasoning": [({ input }) => input.splice(7, 1)],
      "R2 reasoningLeadsOn": [({ input }) => input.push(reasoning("rs_4"))],
      "R3 idsUnique": [({ input }) => Object.assign(input[4], { call_id: "c1" })],
      "R4 callsReadable": [({ input }) => Object.assign(input[3], { arguments: '{"path":' })],
      "R5 nothingEmpty": [({ input }) => input[9].content.pop()],
      "A8 surrogatesPaired": [({ input }) => (input[5].output = HALF)],
    },
  },
  "google-generative-ai": {
    valid: [GEMINI, { model: "gemini-2.5-pro", contents: GEMINI.contents.slice(0, 3) }],
    broken: {
      "G1 responsesMatchCalls": [({ contents }) => contents[6].parts.pop()],
      "G1 responsesFollowCalls": [({ contents }) => contents.splice(7, 1)],
      "G2 callsFollowUser": [({ contents }) => contents.splice(4, 1)],
      "G2 userOpens": [({ contents }) => contents.shift()],
      "G3 currentTurnSigned": [({ contents }) => delete contents[7].parts[0].thoughtSignature],
      "G3 signaturesUnchanged": [({ contents }) => Object.assign(contents[5].parts[2], signed)],
      "G4 userCloses": [({ contents }) => contents.splice(7, 2, turn("model", { text: "So." }))],
      "G5 nothingEmpty": [({ contents }) => contents[3].parts.pop()],
      "A8 surrogatesPaired": [({ contents }) => contents[0].parts.push({ text: HALF })],
    },
  },
};

for (const [api, { valid, broken }] of Object.entries(REQUESTS)) {
  test(`The checker of ${api} lets valid requests pass, and each rule sees what breaks it`, () => {
    for (const body of valid) assert.deepEqual(judge(api, body, body), []);
    assert.deepEqual(Object.keys(broken).sort(), Object.keys(rulesOf[api]).sort());
    for (const [rule, [change, whole = valid[0]]] of Object.entries(broken)) {
      const body = structuredClone(whole);
      change(body);
      const seen = introduced(api, body, whole).map((objection) => objection.split(": ")[0]);
      assert.ok(seen.includes(rule), `${rule} says nothing; ${seen}`);
      assert.deepEqual(introduced(api, body, body), [], "the hook is blamed for that alone");
    }
  });
}
