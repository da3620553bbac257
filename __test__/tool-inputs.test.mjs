// clearToolInputs: what old calls wrote gives way to markers before the calls go, and nothing else of them changes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createTransformContext, explain } from "../index.js";

const LIMIT = 500;
const MARKER = /^\[\.\.\. (\d+) characters omitted here: this is not what the call said \.\.\.\]$/;
const OPTIONS = { marker: "en", contextWindow: 60_000, calibrate: false, economy: "thrifty" };

/** Calls that write a file each and are never spoken of again, some through odd arguments. */
function session(count, { signed = false, thinks = false, api = "anthropic-messages" } = {}) {
  const messages = [{ role: "user", content: "write the files", timestamp: 1 }];
  for (let i = 0; i < count; i += 1) {
    const body = Array.from(
      { length: 60 },
      (_, line) => `const ${"abcdefgh"[i % 8]}${i}_${line} = "é😀\\n${line * i}";`,
    );
    const edits = [
      { oldText: "short", newText: body.join("\n") },
      { at: i, keep: null },
    ];
    const call = { type: "toolCall", id: `c${i}`, name: i % 5 === 4 ? "note" : "write" };
    const args =
      i % 3 === 0 ? { path: `src/f${i}.ts`, edits } : { path: `src/f${i}.ts`, content: body.join("\n") };
    messages.push({
      role: "assistant",
      content: [
        ...(thinks
          ? [{ type: "thinking", thinking: `file ${i}`, thinkingSignature: "reasoning_content" }]
          : []),
        { ...call, arguments: args, ...(signed && { thoughtSignature: "c2ln" }) },
      ],
      api,
      provider: "p",
      model: "m",
      stopReason: "toolUse",
      timestamp: 1000 * i + 2,
    });
    const text = `wrote ${i}`;
    messages.push({
      role: "toolResult",
      toolCallId: `c${i}`,
      toolName: call.name,
      content: [{ type: "text", text }],
      isError: false,
      timestamp: 1000 * i + 3,
    });
  }
  return messages;
}

const calls = (messages) =>
  messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type === "toolCall") : [],
  );
const clearing = (options) => ({ ...OPTIONS, clearToolInputs: true, ...options });

/** True where `left` is `whole` but for markers in place of long texts, each naming the length of what it stands for. */
function isCleared(whole, left) {
  if (typeof whole === "string" && whole !== left)
    return whole.length > LIMIT && Number(MARKER.exec(left)?.[1]) === whole.length;
  if (typeof whole !== "object" || whole === null) return whole === left;
  return (
    Object.keys(whole).join() === Object.keys(left).join() &&
    Object.keys(whole).every((key) => isCleared(whole[key], left[key]))
  );
}

test("old calls lose their long texts to markers that name their length, and stay", async () => {
  const messages = session(120);
  const before = structuredClone(messages);
  const [sent, { edits, tokensAfter }] = [
    await createTransformContext(clearing())(messages),
    await explain(messages, clearing()),
  ];
  assert.deepEqual(messages, before);
  const cleared = calls(sent).filter((call) => JSON.stringify(call.arguments).includes("this is not what"));
  assert.ok(cleared.length > 20, `${cleared.length}`);
  for (const call of cleared) {
    const whole = calls(messages).find(({ id }) => id === call.id);
    assert.ok(isCleared(whole.arguments, call.arguments), call.id);
    assert.deepEqual({ ...call, arguments: 0 }, { ...whole, arguments: 0 });
  }
  assert.equal(edits.filter(({ action }) => action === "clearInputs").length, cleared.length);
  // Every token the plan speaks of is there, frames aside: what is counted is what is sent.
  const frames = tokensAfter - countTokens(sent);
  assert.equal(frames, (await explain(sent, OPTIONS)).tokensBefore - countTokens(sent));
  // The newest results are not old, nor are their calls.
  const newest = calls(messages).slice(-6);
  assert.deepEqual(calls(sent).slice(-6), newest);
});

test("more of what the agent did stays in view than without", async () => {
  const messages = session(120);
  const shown = async (options) => calls(await createTransformContext(options)(messages)).length;
  assert.ok((await shown(clearing())) > (await shown(OPTIONS)));
});

test("without the option, under everyCall, and where they are bound, arguments stay word for word", async () => {
  const cases = [
    [session(120), OPTIONS],
    [session(120), clearing({ schedule: "everyCall" })],
    [session(120, { signed: true }), clearing()],
    [session(120, { thinks: true, api: "openai-completions" }), clearing()],
    [session(120), clearing({ excludeTools: ["write", "note"] })],
    [session(120), clearing({ minSummaryChars: 100_000 })],
    [session(120), clearing({ protect: ({ role }) => role === "assistant" })],
  ];
  for (const [messages, options] of cases) {
    const whole = new Map(calls(messages).map((call) => [call.id, call]));
    for (const call of calls(await createTransformContext(options)(messages)))
      assert.equal(call, whole.get(call.id));
  }
});

test("what was cleared is frozen, and the events tell it", async () => {
  const messages = session(160);
  const events = [];
  const hook = createTransformContext(clearing({ onEvent: (event) => events.push(event) }));
  const sentOf = new Map();
  for (let end = 1; end <= messages.length; end += 2) {
    for (const call of calls(await hook(messages.slice(0, end)))) {
      const is = JSON.stringify(call.arguments);
      const was = sentOf.get(call.id);
      assert.ok(was === undefined || was === is || !was.includes("this is not what"), call.id);
      sentOf.set(call.id, is);
    }
  }
  assert.ok(events.some(({ type, tokensSaved }) => type === "toolInputsCleared" && tokensSaved > 0));
  assert.ok(!events.some(({ type }) => type === "repaired" || type === "failed"));
});
