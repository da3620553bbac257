// The guard as its first host wrote it down: one test for each sentence, in that order.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createContextGuard,
  DEFAULT_TOOL_RESULT_MAX_CHARS,
  estimateContextTokens,
  estimateTokens,
  getContextWindow,
  guardContext,
  TRUNCATE_HEAD_CHARS,
  TRUNCATE_TAIL_CHARS,
  truncateToolResult,
} from "pi-strata/guard";
import strata from "../index.js";
import { answer, custom, result } from "./support/messages.mjs";
import { table } from "./support/tables.mjs";

const { countTokens } = strata;
const LONG = "a line of a log\n".repeat(4_000);
const WORDS = "word ".repeat(3_000);

/** A round of the first host: a question, and an answer that holds its calls and their results. */
const seedRound = (n, data = WORDS) => [
  { role: "user", content: `question ${n}` },
  {
    role: "assistant",
    content: `answer ${n}`,
    toolCalls: [{ id: `c${n}`, name: "read", arguments: { path: `${n}.txt` } }],
    toolResults: [{ success: true, data }],
  },
];

/** The same round in the shapes of other stacks. */
const inShape = (shape) => [shape, (n, text = WORDS) => table("rounds.json", { n, text })[shape]];
const ROUNDS = { seed: seedRound, ...Object.fromEntries(Object.keys(table("rounds.json")).map(inShape)) };

test("a text over 50 000 characters keeps 2 000 at its head and 2 000 at its tail", () => {
  assert.equal(truncateToolResult(LONG.slice(0, 50_000)).length, 50_000);
  const cut = truncateToolResult(LONG);
  assert.equal(
    cut,
    `${LONG.slice(0, 2_000)}\n\n... [60000 characters truncated] ...\n\n${LONG.slice(-2_000)}`,
  );
  assert.ok(truncateToolResult(LONG, 1_000).length <= 1_000);
  assert.ok(truncateToolResult(LONG, { maxToolResultChars: 1_000 }).length <= 1_000);
});

test("guardContext is synchronous and returns messages, dropped, droppedTokens and truncated", () => {
  const messages = seedRound(1);
  const outcome = guardContext(messages, { contextWindow: 128_000 });
  assert.deepEqual(outcome, { messages, dropped: 0, droppedTokens: 0, truncated: [] });
  assert.equal(outcome.messages, messages);
});

test("what fits is not cut, whoever begins", () => {
  const messages = [{ role: "assistant", content: "Welcome." }, ...seedRound(1)];
  const room = { contextWindow: countTokens(messages), reserveTokens: 0 };
  assert.equal(guardContext(messages, room).messages, messages);
  const asked = [];
  const contextWindow = () => asked.push(1) && 2_000;
  const two = [...seedRound(1), ...seedRound(2)];
  assert.equal(guardContext(two, { contextWindow, reserveTokens: 0 }).dropped, 2);
  assert.equal(asked.length, 1, "the window is asked for once");
});

test("each tool result is capped", () => {
  for (const [shape, round] of Object.entries(ROUNDS)) {
    const messages = round(1, LONG);
    const before = structuredClone(messages);
    const { messages: kept, truncated } = guardContext(messages, { contextWindow: 128_000 });
    const cut = truncateToolResult(LONG);
    assert.deepEqual(messages, before, `${shape}: the input stays as it was`);
    assert.ok(JSON.stringify(kept).includes(JSON.stringify(cut).slice(1, -1)), shape);
    assert.equal(kept[0], messages[0], shape);
    assert.deepEqual(
      truncated,
      [{ toolName: "read", charsBefore: LONG.length, charsAfter: cut.length }],
      shape,
    );
  }
});

test("data that is no text is capped as its JSON, an error as its words", () => {
  const round = seedRound(1, { lines: LONG.split("\n") });
  const [, answer] = guardContext(round, { contextWindow: 128_000 }).messages;
  assert.equal(answer.toolResults[0].data, truncateToolResult(JSON.stringify({ lines: LONG.split("\n") })));
  round[1].toolResults = [{ success: false, error: LONG }];
  const [, failed] = guardContext(round, { contextWindow: 128_000 }).messages;
  assert.deepEqual(failed.toolResults, [{ success: false, error: truncateToolResult(LONG) }]);
});

test("every system message stays", () => {
  const system = { role: "system", content: "You are brief." };
  const messages = [system, ...[1, 2, 3].flatMap((n) => seedRound(n)), { role: "user", content: "now" }];
  const { messages: kept } = guardContext(messages, { contextWindow: 4_000 });
  assert.deepEqual(kept, [system, messages.at(-1)]);
});

test("from the newest back, whole rounds stay as long as they fit into the window less the reserve", () => {
  const messages = [...[1, 2, 3, 4].flatMap((n) => seedRound(n)), { role: "user", content: "now" }];
  const room = countTokens(messages.slice(4));
  const fitting = guardContext(messages, { contextWindow: room + 100, reserveTokens: 100 });
  assert.deepEqual(fitting.messages, messages.slice(4));
  assert.equal(fitting.dropped, 4);
  assert.equal(fitting.droppedTokens, countTokens(messages.slice(0, 4)));
  const less = guardContext(messages, { contextWindow: room + 99, reserveTokens: 100 });
  assert.deepEqual(less.messages, messages.slice(6));
});

test("the newest message always stays", () => {
  const messages = [...seedRound(1), { role: "user", content: WORDS }];
  assert.deepEqual(guardContext(messages, { contextWindow: 100 }).messages, messages.slice(2));
  const unsent = answer("cut off", { stopReason: "aborted" });
  const open = [...ROUNDS.pi(1).slice(0, 3), unsent];
  assert.deepEqual(guardContext(open, { contextWindow: 100 }).messages, open, "the newest that is sent");
});

test("an explicit reserve is obeyed, the default is at most a quarter of the window", () => {
  const messages = [
    { role: "user", content: WORDS },
    { role: "assistant", content: "a" },
    { role: "user", content: "b" },
  ];
  const tokens = countTokens(messages);
  const contextWindow = Math.ceil((tokens * 4) / 3) + 1;
  assert.equal(guardContext(messages, { contextWindow }).dropped, 0);
  assert.equal(guardContext(messages, { contextWindow, reserveTokens: 8_192 }).dropped, 2);
  assert.equal(guardContext(messages, { contextWindow: tokens + 8_191, reserveTokens: 8_192 }).dropped, 2);
  assert.equal(guardContext(messages, { contextWindow: tokens + 8_192, reserveTokens: 8_192 }).dropped, 0);
});

test("contextWindowOverride takes the place of the window, and enabled: false hands everything back", () => {
  const messages = [...seedRound(1), { role: "user", content: "now" }];
  const small = { contextWindow: 1_000, reserveTokens: 0 };
  assert.equal(guardContext(messages, small).dropped, 2);
  assert.equal(guardContext(messages, { ...small, contextWindowOverride: 100_000 }).dropped, 0);
  assert.equal(guardContext(messages, { ...small, enabled: false }).messages, messages);
});

test("warnings are events with a line that is ready to be logged", () => {
  const events = [];
  const messages = [...seedRound(1, LONG), ...seedRound(2, LONG)];
  const { droppedTokens } = guardContext(messages, {
    contextWindow: 1_500,
    reserveTokens: 0,
    onEvent: (event) => events.push(`${event.level} ${event.message}`),
  });
  assert.deepEqual(events, [
    `warn Context guard: truncated tool result for "read" (64000 → ${truncateToolResult(LONG).length} chars)`,
    `warn Context guard: dropped 2 old messages (estimated ${droppedTokens} tokens)`,
  ]);
});

test("a warning shows a tool's name on one line, whatever the model called it", () => {
  const name = `read\n[ERROR] forged\u001b[2J\u009b2J\u202e${"x".repeat(1000)}`;
  const messages = seedRound(1, LONG);
  messages[1].toolCalls[0].name = name;
  let warning;
  guardContext(messages, {
    contextWindow: 100_000,
    onEvent: ({ message }) => {
      warning = message;
    },
  });
  assert.match(warning, /^Context guard: truncated tool result for "read\\n\[ERROR\][ -~]*x…" \(64000/);
  assert.ok(warning.length < 250, warning);
});

test("createContextGuard is the same as an asynchronous hook, which never rejects", async () => {
  const messages = [...[1, 2, 3].flatMap((n) => seedRound(n)), { role: "user", content: "now" }];
  const options = { contextWindow: 5_000, reserveTokens: 0 };
  const guard = createContextGuard(options);
  assert.deepEqual(await guard(messages), guardContext(messages, options).messages);
  assert.equal(await createContextGuard({ ...options, enabled: false })(messages), messages);
  const foreign = [{ role: "user", parts: [{ type: "text", text: "hi" }] }];
  assert.equal(await guard(foreign), foreign);
});

test("counted are content, the calls as JSON, and data as JSON or the error", () => {
  const [question, answer] = seedRound(1, { found: ["a", "b"] });
  const texts = [question.content, answer.content, JSON.stringify(answer.toolCalls), '{"found":["a","b"]}'];
  const exact = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const byLength = texts.reduce((sum, text) => sum + Math.ceil(text.length / 3), 0);
  assert.equal(estimateContextTokens([question, answer]), byLength);
  assert.equal(estimateContextTokens([question, answer], { counting: "exact" }), exact);
  assert.equal(countTokens([question, answer]), exact);
  const failed = { role: "tool", content: "", toolResults: [{ success: false, error: "no such file" }] };
  assert.equal(estimateContextTokens([failed]), 4);
  assert.equal(estimateContextTokens([{ ...failed, toolResults: [{ success: true, data: "abcd" }] }]), 2);
});

test("estimateTokens is the length in thirds, rounded up; getContextWindow and the constants are exported", () => {
  assert.equal(estimateTokens("abcd"), 2);
  assert.equal(estimateTokens("中文字符"), 2);
  assert.equal(estimateTokens("hello world", { counting: "exact" }), 2);
  const constants = [DEFAULT_TOOL_RESULT_MAX_CHARS, TRUNCATE_HEAD_CHARS, TRUNCATE_TAIL_CHARS];
  assert.deepEqual(constants, [50_000, 2_000, 2_000]);
  assert.deepEqual([getContextWindow({ contextWindow: 8_000 }), getContextWindow({})], [8_000, 200_000]);
});

test("messages of the first host, of sessions, pi, OpenAI's two APIs, Anthropic and the AI SDK are counted and dropped; pairs are never split", () => {
  for (const [shape, round] of Object.entries(ROUNDS)) {
    const messages = [1, 2, 3, 4, 5].flatMap((n) => round(n));
    assert.ok(countTokens(messages) > 15_000, shape);
    for (let contextWindow = 1_000; contextWindow < 18_000; contextWindow += 500) {
      const { messages: kept } = guardContext(messages, { contextWindow, reserveTokens: 0 });
      const said = JSON.stringify(kept);
      for (let n = 1; n <= 5; n += 1) {
        assert.equal(
          said.includes(`question ${n}`),
          said.includes(`answer ${n}`),
          `${shape}: round ${n} is whole`,
        );
      }
      assert.ok(kept.length > 0 && kept.every((message) => messages.includes(message)), shape);
    }
  }
});

test("a file counts without its bytes, whatever its field is called", () => {
  const bytes = "QUJD".repeat(50_000);
  for (const message of table("message-files.json", { bytes }))
    assert.ok(countTokens(message) < 100, JSON.stringify(message).slice(0, 60));
  for (const head of ["", "a".repeat(2_000)]) {
    const text = { type: "text", media_type: "text/plain", data: `${head}${WORDS}` };
    const document = { role: "user", content: [{ type: "document", source: text }] };
    assert.ok(countTokens(document) > 3_000, "text counts");
  }
  for (const url of [`data:image/png;base64,${bytes}`, "https://example.com/a.png"])
    for (const field of ["content", "blocks"]) {
      const image = { role: "user", content: "", [field]: [{ type: "image_url", image_url: { url } }] };
      assert.equal(countTokens(image), 1_200);
    }
  for (const data of [bytes, new Uint8Array(9), { type: "data", data: bytes }])
    assert.equal(countTokens({ role: "user", content: [{ type: "file", mediaType: "image", data }] }), 1_200);
});

test("results of parallel calls, and what stands between a call and its result, go together", () => {
  const group = (id) => [answer(`:${id}a ${id}b`), result(`${id}a`, WORDS), custom, result(`${id}b`, WORDS)];
  const messages = [{ role: "user", content: "q" }, ...group(1), ...group(2), ...group(3)];
  const { messages: kept } = guardContext(messages, { contextWindow: 13_000, reserveTokens: 0 });
  assert.deepEqual(kept, [messages[0], ...messages.slice(5)]);
});

test("a shape that the guard does not know is a TypeError", () => {
  const options = { contextWindow: 8_000 };
  const foreign = [
    ...table("foreign-messages.json"),
    ["LangChain", { content: "hi", _getType: () => "human" }],
    ["LangChain", { content: "hi", getType: () => "human" }],
    ["LangChain", { content: "hi", _getType: () => "human", getType: null }],
  ];
  for (const [name, message] of foreign) {
    const refused = { name: "TypeError", message: new RegExp(name) };
    assert.throws(() => guardContext([message], options), refused);
    assert.throws(() => countTokens([message]), refused);
  }
  for (const message of [
    { type: "custom", customType: "x", data: { a: 1 } },
    { success: true, data: { a: 1 } },
  ])
    assert.equal(typeof countTokens([message]), "number");
  for (const messages of ["text", [null], [7]])
    assert.throws(() => guardContext(messages, options), TypeError);
  assert.throws(() => guardContext([]), /contextWindow is missing/);
});
