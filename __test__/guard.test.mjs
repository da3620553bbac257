// The context guard against an independent model of it, at its edges, and in a real Agent.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { createContextGuard, guardContext, truncateToolResult } from "pi-strata/guard";
import { createTools } from "../examples/scripted/tools.mjs";
import strata from "../index.js";
import { transcript } from "./support/generate.mjs";
import { runAgent } from "./support/run-agent.mjs";

const { createTransformContext, countTokens, validate } = strata;

const user = (content) => ({ role: "user", content, timestamp: 1 });
const says = (text) => ({ role: "assistant", content: [{ type: "text", text }], stopReason: "stop" });
const calls = (id) => ({
  role: "assistant",
  content: [{ type: "toolCall", id, name: "bash", arguments: {} }],
  stopReason: "toolUse",
});
const result = (id, text) => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "bash",
  content: [{ type: "text", text }],
});

describe("truncateToolResult", () => {
  test("never cuts inside a surrogate pair", () => {
    const text = `a${"😀".repeat(100)}b`;
    const options = { maxToolResultChars: 100, truncateHeadChars: 10, truncateTailChars: 10 };
    const cut = truncateToolResult(text, options);
    assert.ok(cut.isWellFormed?.() ?? !/\p{Surrogate}/u.test(cut));
    assert.equal(cut, `a${"😀".repeat(4)}\n\n... [184 characters truncated] ...\n\n${"😀".repeat(4)}b`);
  });

  test("agrees with plain slicing on text without pairs", () => {
    const sizes = fc.record({ max: fc.nat(200), head: fc.nat(40), tail: fc.nat(40) });
    fc.assert(
      fc.property(fc.string({ maxLength: 400, unit: "binary-ascii" }), sizes, (text, { max, head, tail }) => {
        const options = { maxToolResultChars: max, truncateHeadChars: head, truncateTailChars: tail };
        const omitted = text.length - head - tail;
        const note = `\n\n... [${omitted} characters truncated] ...\n\n`;
        const cut = text.slice(0, head) + note + text.slice(text.length - tail);
        const expected = text.length > max && omitted > 0 && cut.length < text.length ? cut : text;
        assert.equal(truncateToolResult(text, options), expected);
      }),
    );
  });

  test("refuses what is no text and options that are off", () => {
    assert.throws(() => truncateToolResult(7), TypeError);
    assert.throws(() => truncateToolResult("", { maxToolResultChars: -1 }), /maxToolResultChars is -1/);
  });
});

describe("guardContext", () => {
  test("keeps only system and one user message as they are, however large", async () => {
    const messages = [{ role: "system", content: "s ".repeat(9000) }, user("u ".repeat(9000))];
    assert.equal(guardContext(messages, { contextWindow: 8_300 }).messages, messages);
  });

  test("keeps the question and the newest group of a round that is too long", async () => {
    const steps = Array.from({ length: 9 }, (_, i) => [
      calls(`${i}`),
      result(`${i}`, "z ".repeat(500)),
    ]).flat();
    const messages = [user("old"), says("old"), user("question"), ...steps];
    const { messages: kept } = guardContext(messages, { contextWindow: 1_000 });
    assert.equal(kept[0], messages[2]);
    assert.deepEqual(kept.slice(1), messages.slice(-2));
  });

  test("counts as it is told to", async () => {
    const messages = [user("中".repeat(3000)), says("a"), user("b")];
    const window = { contextWindow: 2_000, reserveTokens: 0 };
    assert.equal(guardContext(messages, { ...window, counting: "exact" }).dropped, 2);
    assert.equal(guardContext(messages, { ...window, counting: "chars" }).dropped, 0);
  });

  test("agrees with an independent walk back over generated transcripts", async () => {
    const property = fc.asyncProperty(
      transcript(),
      fc.integer({ min: 20, max: 3000 }),
      async (messages, contextWindow) => {
        const options = { contextWindow, reserveTokens: 0, maxToolResultChars: 300 };
        const cap = { truncateHeadChars: 60, truncateTailChars: 60 };
        const { messages: kept, dropped } = guardContext(messages, { ...options, ...cap });
        const expected = walkBack(messages, contextWindow, { maxToolResultChars: 300, ...cap });
        assert.deepEqual(kept, expected);
        assert.equal(dropped, messages.length - kept.length);
        const allowed = new Set(validate(messages).map(({ rule }) => rule));
        const broken = validate(kept).filter(({ rule }) => !allowed.has(rule));
        assert.deepEqual(broken, []);
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  test("refuses options that are off by name", () => {
    assert.throws(() => guardContext([], {}), /option contextWindow is missing/);
    assert.throws(() => guardContext([], { contextWindow: 1, counting: "tiktoken" }), /"exact", "chars"/);
    assert.throws(() => guardContext([], { contextWindow: 1, reserve: 1 }), /there is no option reserve/);
  });
});

describe("createContextGuard", () => {
  test("never throws: bad input comes back as it is, and is reported", async () => {
    const events = [];
    const guard = createContextGuard({ contextWindow: 9_000, onEvent: (event) => events.push(event) });
    assert.equal(await guard("nonsense"), "nonsense");
    assert.equal(events[0].code, "ERR_INVALID_INPUT");
    const throwing = createContextGuard({
      contextWindow: 9_000,
      onEvent() {
        throw new Error("listener");
      },
    });
    assert.equal((await throwing([user("x ".repeat(9000)), says("a"), user("b")])).length, 1);
    const aborted = [user("x ".repeat(9000)), says("a"), user("b")];
    assert.equal(await guard(aborted, AbortSignal.abort()), aborted);
  });

  const root = fileURLToPath(new URL("..", import.meta.url));
  const steps = Array.from({ length: 12 }, (_, i) => ({
    text: "Next.",
    calls: [{ name: "read", arguments: { path: i % 3 ? "Cargo.lock" : "package.json" } }],
  }));
  const script = [...steps, { text: "Done." }];
  const prompts = ["Read it."];

  for (const [name, before] of [
    ["alone", undefined],
    ["before the layers", createTransformContext({ schedule: "everyCall" })],
  ]) {
    test(`runs in a real Agent, ${name}`, async () => {
      const window = { contextWindow: 6_000, reserveTokens: 1_000, maxToolResultChars: 4_000 };
      const guard = createContextGuard({ ...window, truncateHeadChars: 1_000, truncateTailChars: 1_000 });
      const hook = before ? async (messages, signal) => before(await guard(messages, signal), signal) : guard;
      const { messages, hookCalls } = await runAgent({
        version: "0.74.2",
        hook,
        script,
        prompts,
        tools: createTools(root),
      });
      assert.equal(messages.at(-1).content[0].text, "Done.");
      assert.equal(hookCalls.length, 13);
      const last = hookCalls.at(-1);
      assert.ok(last.result.length < last.messages.length, "old rounds were dropped");
      assert.ok(hookCalls.every(({ result }) => countTokens(result) <= 5_000));
      assert.match(JSON.stringify(hookCalls[1].result), /characters truncated/);
      assert.ok(messages.every((message) => !JSON.stringify(message).includes("characters truncated")));
    });
  }
});

/** The guard, told again in the plainest way: cap, then rounds from the newest back, then groups. */
function walkBack(messages, budget, cap) {
  const capped = messages.map((message) => cappedResult(message, cap));
  const tokens = (list) => countTokens(list);
  const isSystem = ({ role }) => role === "system";
  const groups = [];
  for (const message of capped) {
    if (message.role === "toolResult") groups.at(-1).push(message);
    else groups.push([message]);
  }
  const rounds = [];
  for (const group of groups) {
    if (rounds.length === 0 || group[0].role === "user") rounds.push([]);
    rounds.at(-1).push(group);
  }
  const suffix = (list) => list.flat(Infinity);
  const from = rounds.findIndex((_, at) => tokens(suffix(rounds.slice(at))) <= budget);
  if (from >= 0) return same(suffix(rounds.slice(from)));
  const [opening, ...rest] = rounds.at(-1);
  const at = rest.findIndex((_, i) => tokens([...opening, ...suffix(rest.slice(i))]) <= budget);
  return same([...opening, ...suffix(at >= 0 ? rest.slice(at) : rest.slice(-1))]);

  function same(kept) {
    return capped.filter((message) => kept.includes(message) || isSystem(message));
  }
}

function cappedResult(message, cap) {
  if (message.role !== "toolResult") return message;
  const texts = message.content.filter(({ type }) => type === "text");
  const text = texts.map(({ text }) => text).join("\n");
  const cut = truncateToolResult(text, cap);
  if (cut === text || countTokens(cut) > texts.reduce((sum, block) => sum + countTokens(block.text), 0))
    return message;
  const content = message.content.flatMap((block) => {
    if (block.type !== "text") return [block];
    return block === texts[0] ? [{ ...block, text: cut }] : [];
  });
  return { ...message, content };
}
