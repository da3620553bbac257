// What is decided, by cases small enough to work out by hand. None names a figure of the weights: another fit of them may move
// every one, and these must hold all the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createTransformContext, explain } from "../index.js";
import { agentSession, REPORT, textOf } from "./support/agent-session.mjs";
import * as made from "./support/messages.mjs";

/** A pause after which a cache of five minutes is cold, in ms. */
const PAUSE = 600_000;

const rows = (name, count) =>
  Array.from({ length: count }, (_, i) => `    ${name}_${i} = compute_${name}(${i}, ${i * 7});`).join("\n");

const session = (steps) =>
  agentSession(steps, { answer: (i) => ({ usage: i === 0 ? REPORT : {} }), pauseMs: PAUSE });
const sentOf = (messages, options = {}) =>
  createTransformContext({ marker: "en", economy: "thrifty", ...options })(messages);
const resultOf = (sent, call) => sent.find(({ toolCallId }) => toolCallId === `call${call}`);
/** So many steps that each bring a log of so many lines. */
const logs = (count, lines) =>
  Array.from({ length: count }, (_, i) => ["bash", { command: `make p${i}` }, rows(`log${i}`, lines)]);
const LOGS = logs(40, 120);

test("an old result that nothing refers to becomes one marker line, and its call stays word for word", async () => {
  const messages = session(LOGS);
  const sent = await sentOf(messages, { economy: 90 });
  const bare = sent.filter(
    (message) => message.role === "toolResult" && /^\[\.\.\. 120 lines omitted.*\]$/.test(textOf(message)),
  );
  assert.ok(bare.length > 5, `${bare.length} marker lines`);
  for (const { toolCallId } of bare) {
    const asks = (message) => message.content.some?.(({ id }) => id === toolCallId);
    assert.equal(sent.find(asks), messages.find(asks));
  }
});

test("what an edit will have to quote stays where a log goes", async () => {
  const path = "src/parser.rs";
  const read = ["read", { path }, rows("field", 120)];
  const edit = ["edit", { path, oldText: rows("field", 1), newText: rows("state", 1) }, "done"];
  const sent = await sentOf(session([...LOGS.slice(0, 15), read, edit, ...LOGS.slice(15)]), { economy: 130 });
  const left = (call) => (resultOf(sent, call) ? textOf(resultOf(sent, call)).length : 0);
  assert.ok(left(15) > left(14), "the file outlives the log before it");
});

test("explain names the form in which a call named its file", async () => {
  const reads = LOGS.map(([, , text], i) =>
    i % 2 === 0
      ? ["shell", { command: ["bash", "-lc", `cat src/f${i}.rs`] }, text]
      : ["Read", { file_path: `src/f${i}.rs` }, text],
  );
  const { edits } = await explain(session(reads), { economy: 20 });
  const forms = new Set(edits.flatMap(({ form }) => form ?? []));
  assert.deepEqual(forms, new Set(["Codex shell: cat", "Claude Code Read"]));
});

test("what the edits save adds up, with the tokens that the provider counts around each message", async () => {
  const messages = logs(60, 4).flatMap(([name, args, text], i) => [
    made.answer([made.call(`c${i}`, { name, arguments: args })]),
    made.result(`c${i}`, text),
  ]);
  for (const [i, message] of messages.entries())
    if (message.usage === undefined && i % 2 === 0 && i > 0)
      message.usage = { input: 500 + 40 * i + countTokens(messages.slice(0, i)), output: 1 };
  const { edits, tokensBefore, tokensAfter } = await explain(messages, { contextWindow: 8000 });
  const saved = edits.reduce((sum, { tokensSaved }) => sum + tokensSaved, 0);
  assert.ok(edits.filter(({ action }) => action === "drop").length > 20);
  assert.ok(
    Math.abs(saved / (tokensBefore - tokensAfter) - 1) < 0.01,
    `${saved} of ${tokensBefore - tokensAfter}`,
  );
});

test("an app's notes in the open turn stay: pi sends them as the user's words", async () => {
  const messages = agentSession(LOGS, { answer: (i) => ({ usage: i === 0 ? REPORT : {} }) });
  messages.at(-1).timestamp += PAUSE;
  const note = { role: "custom", customType: "note", content: rows("note", 60), display: true };
  const list = messages.toSpliced(21, 0, { ...note, timestamp: messages[20].timestamp + 1 });
  const sent = await sentOf(list, { economy: 20 });
  assert.ok(sent.length < list.length - 20 && sent.includes(list[21]), `${sent.length} of ${list.length}`);
});

test("a lesser economy sends less", async () => {
  const sizes = [];
  for (const economy of ["faithful", "balanced", "thrifty", 30]) {
    const sent = await sentOf(session(LOGS), { economy });
    sizes.push(JSON.stringify(sent).length);
  }
  const falling = sizes.toSorted((a, b) => b - a);
  assert.deepEqual(sizes, falling);
  assert.ok(sizes[0] > sizes[3]);
});

test("a window of a million tokens decides as one of 200 000 does", async () => {
  for (const economy of ["balanced", "thrifty"]) {
    const [small, large] = await Promise.all(
      [200_000, 1_000_000].map((contextWindow) => sentOf(session(LOGS), { economy, contextWindow })),
    );
    assert.deepEqual(large, small);
  }
});

test("prices of nothing, or the same for all, are no fault", async () => {
  for (const cache of [
    { read: 0, write: 0 },
    { read: 1, write: 1 },
  ]) {
    const messages = session(LOGS);
    const events = [];
    const sent = await sentOf(messages, { cache, onEvent: (event) => events.push(event) });
    assert.ok(sent.length > 0 && JSON.stringify(sent).length < JSON.stringify(messages).length);
    assert.doesNotMatch(JSON.stringify(events), /null|NaN/);
  }
});

test("thinking that is bound to what stands before it lets no batch come before the end of the turn", async () => {
  const steps = LOGS.slice(0, 30);
  const reasonOf = async (model, { pauseMs, contextWindow = 200_000 } = {}) => {
    const answer = (i) => {
      const thought = { type: "thinking", thinking: `step ${i} `.repeat(40), thinkingSignature: `s${i}` };
      const call = { type: "toolCall", id: `call${i}`, name: "bash", arguments: steps[i][1] };
      return { model, content: [thought, call], usage: { ...REPORT, input: 3000 * (i + 1) } };
    };
    const messages = agentSession(steps, { answer, pauseMs });
    // The cache is cold by then.
    if (pauseMs === undefined) messages.at(-1).timestamp += PAUSE;
    let reason;
    const onEvent = (event) => (reason = event.reason ?? reason);
    await sentOf(messages, { contextWindow, onEvent });
    return reason;
  };
  for (const model of ["claude-opus-5-5", "gpt-6.2-sol"])
    assert.match(await reasonOf(model), /^waits for the end of the turn/);
  assert.doesNotMatch(await reasonOf("gpt-6.1-sol"), /^waits for the end of the turn/);
  assert.match(await reasonOf("claude-opus-4-5"), /^moved: the cache is cold/);
  assert.match(await reasonOf("claude-opus-5-5", { pauseMs: PAUSE }), /^moved: the cache is cold/);
});

test("with a warm cache it moves rarely, once for what carrying has cost, and stays under the threshold", async () => {
  const messages = agentSession(logs(120, 60));
  const contextWindow = 200_000;
  const reasons = [];
  const onEvent = ({ type, reason, tokensAfter }) => {
    if (type !== "transformed") return;
    reasons.push(reason);
    assert.ok(tokensAfter <= 0.75 * contextWindow, `${tokensAfter} tokens, and it says "${reason}"`);
  };
  // Reading is dear, so that carrying soon costs more than the bill may rise by.
  const cache = { read: 0.5, write: 1.25 };
  const hook = createTransformContext({ marker: "en", economy: "thrifty", contextWindow, cache, onEvent });
  for (let at = 1; at < messages.length; at += 2)
    messages[at].usage = { ...REPORT, input: countTokens(await hook(messages.slice(0, at))) };
  const moves = reasons.filter((reason) => reason.startsWith("moved"));
  assert.ok(
    moves.some((reason) => /carrying/.test(reason)),
    moves.join("; "),
  );
  assert.ok(moves.length > 1 && moves.length * 8 < reasons.length, moves.join("; "));
});

const FAILED = { content: [], stopReason: "error", errorMessage: "503", usage: undefined };

test("calls that fail and are sent again bring no batch forward", async () => {
  const steps = LOGS.concat(LOGS).map(([tool, args, text]) => [tool, args, text.slice(0, 2000)]);
  const firstMove = async (failures) => {
    const messages = agentSession(steps);
    const reasons = [];
    const onEvent = ({ type, reason }) => type === "transformed" && reasons.push(reason);
    const hook = createTransformContext({ economy: "thrifty", onEvent });
    const list = [];
    for (const [at, message] of messages.entries()) {
      if (message.role === "assistant") {
        const failed = { ...message, ...FAILED };
        for (let i = 0; i < failures; i += 1) {
          await hook(list.slice());
          list.push({ ...failed, timestamp: message.timestamp - 9000 + i });
        }
        message.usage = { ...REPORT, input: countTokens(await hook(list.slice())) };
        if (reasons.some((reason) => reason.startsWith("moved: carrying"))) return at;
      }
      list.push(message);
    }
    return undefined;
  };
  assert.equal(await firstMove(4), await firstMove(0));
});
