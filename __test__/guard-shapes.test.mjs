// The guard on messages that are not pi's: OpenAI's and the provider-neutral ones are cut and dropped like any other, and
// what is not touched is the very object that came in. And the adapters of sessions: what goes through comes back.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createContextGuard, guardContext, truncateToolResult } from "pi-strata/guard";
import { fromAgentMessage, toAgentMessages } from "pi-strata/sessions";
import strata from "../index.js";

const { countTokens } = strata;

const LONG = "log line of a tool\n".repeat(5000);
const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } };
const options = { contextWindow: 200_000 };

const openai = () => [
  { role: "developer", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "go" }, IMAGE] },
  {
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "1", type: "function", function: { name: "logs", arguments: '{"n":12345678901234567890}' } },
      { id: "2", type: "function", function: { name: "shot", arguments: "{}" } },
    ],
  },
  { role: "tool", tool_call_id: "1", content: LONG },
  {
    role: "tool",
    tool_call_id: "2",
    content: [{ type: "text", text: LONG }, IMAGE, { type: "text", text: "end" }],
  },
  { role: "assistant", content: "done" },
];

describe("OpenAI's messages", () => {
  test("are cut, each in its own shape", async () => {
    const messages = openai();
    const copy = structuredClone(messages);
    const { messages: next, truncated } = guardContext(messages, options);
    assert.deepEqual(messages, copy);
    for (const index of [0, 1, 2, 5]) assert.equal(next[index], messages[index]);
    assert.match(next[3].content, /^log line.*\.\.\. \[\d+ characters truncated\] \.\.\..*tool\n$/s);
    assert.deepEqual(
      [next[3].role, next[3].tool_call_id, next[3].content.length < 4100],
      ["tool", "1", true],
    );
    const [text, image, ...rest] = next[4].content;
    assert.ok(text.type === "text" && text.text.length < 4100 && rest.length === 0);
    assert.equal(image, IMAGE);
    assert.deepEqual(
      truncated.map(({ toolName, charsBefore }) => [toolName, charsBefore]),
      [
        ["logs", LONG.length],
        ["shot", LONG.length + 4],
      ],
    );
  });

  test("that need nothing come back as they are", async () => {
    const messages = openai().map((message) =>
      message.role === "tool" ? { ...message, content: "ok" } : message,
    );
    assert.equal(guardContext(messages, options).messages, messages);
    assert.equal(await createContextGuard(options)(messages), messages);
    const edited = await createContextGuard(options)(openai());
    assert.equal(edited.length, 6);
    for (const odd of [[null, { role: "developer" }], [{ role: "developer", content: 7 }], "no array"]) {
      assert.equal(await createContextGuard(options)(odd), odd);
    }
  });

  test("go in rounds, a result never without its call", async () => {
    const rounds = Array.from({ length: 40 }, (_, n) =>
      openai()
        .slice(1)
        .map((message) => ({ ...message, n })),
    ).flat();
    const small = { contextWindow: 12_000, reserveTokens: 0, maxToolResultChars: 3000 };
    const { messages, dropped } = guardContext([openai()[0], ...rounds], small);
    assert.ok(dropped > 50 && messages[0].role === "developer" && messages[1].role === "user");
    assert.ok(
      messages
        .filter(({ role }) => role === "tool")
        .every(({ content }) => JSON.stringify(content).length < 3400),
    );
  });

  test("neutral messages of a session likewise", () => {
    const messages = [
      { role: "assistant", content: "", toolCalls: [{ id: "1", name: "ls", arguments: {} }] },
      { role: "tool", content: LONG, toolCallId: "1", id: 7 },
    ];
    const { messages: next } = guardContext(messages, options);
    assert.equal(next[0], messages[0]);
    assert.ok(next[1].content.length < 4100 && next[1].id === 7);
  });
});

describe("items of OpenAI's Responses API", () => {
  const call = (id) => ({ type: "function_call", id: `fc${id}`, call_id: id, name: "logs", arguments: "{}" });
  const reasoning = (id) => ({
    type: "reasoning",
    id: `rs${id}`,
    summary: [],
    encrypted_content: "x".repeat(9000),
  });

  test("are cut, each in its own shape", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,aGk=" };
    const items = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: "go" }, image] },
      reasoning("1"),
      call("1"),
      { type: "function_call_output", call_id: "1", output: LONG },
      { type: "custom_tool_call", call_id: "2", name: "shell", input: "ls" },
      { type: "custom_tool_call_output", call_id: "2", output: [{ type: "input_text", text: LONG }, image] },
      { type: "web_search_call", id: "ws1", status: "completed" },
      { type: "computer_call", call_id: "3", action: { type: "screenshot" } },
      {
        type: "computer_call_output",
        call_id: "3",
        output: { type: "computer_screenshot", image_url: image.image_url },
      },
    ];
    const copy = structuredClone(items);
    const { messages: next, truncated } = guardContext(items, options);
    assert.deepEqual(items, copy);
    for (const index of [0, 1, 2, 3, 5, 7]) assert.equal(next[index], items[index]);
    assert.ok(next[4].output.length < 4100 && next[4].type === "function_call_output");
    const [text, shown] = next[6].output;
    assert.ok(text.type === "input_text" && text.text.length < 4100 && shown === image);
    assert.deepEqual(
      truncated.map(({ toolName }) => toolName),
      ["logs", "shell"],
    );
    assert.equal(countTokens(items.slice(2, 3)), 0, "encrypted reasoning is no text");
    assert.ok(countTokens(items.slice(1, 2)) > 1200);
    assert.equal(countTokens(items.at(-1)), 1200);
  });

  test("go with their results, and reasoning with the item behind it", () => {
    const step = (id) => [
      reasoning(`${id}a`),
      call(`${id}a`),
      call(`${id}b`),
      { type: "function_call_output", call_id: `${id}a`, output: "word ".repeat(3000) },
      { type: "function_call_output", call_id: `${id}b`, output: "ok" },
    ];
    const items = [{ role: "user", content: "q" }, ...step(1), ...step(2), ...step(3)];
    for (let contextWindow = 500; contextWindow < 12_000; contextWindow += 500) {
      const { messages } = guardContext(items, { contextWindow, reserveTokens: 0 });
      const kept = (messages.length - 1) / 5;
      assert.deepEqual(messages, [items[0], ...items.slice(items.length - 5 * kept)]);
    }
  });
});

describe("parts of an unknown type", () => {
  const widget = { type: "widget", markup: "hello ".repeat(100) };
  const tokens = countTokens(JSON.stringify(widget));

  test("stay, and are counted as JSON, in every shape", () => {
    const lists = {
      pi: [{ role: "user", content: [widget] }],
      neutral: [{ role: "user", content: "", blocks: [widget] }],
      openai: [{ role: "developer", content: [widget] }],
      anthropic: [
        { role: "user", content: [widget, { type: "tool_result", tool_use_id: "1", content: "" }] },
      ],
      responses: [{ type: "message", role: "user", content: [widget] }],
      aiSdk: [{ role: "tool", content: [widget, { type: "tool-approval-response", approvalId: "1" }] }],
    };
    for (const [shape, messages] of Object.entries(lists)) {
      const isWhole = shape === "aiSdk" || countTokens(messages) === tokens;
      assert.ok(isWhole, `${shape}: ${countTokens(messages)}, not ${tokens}`);
      assert.equal(guardContext(messages, options).messages, messages);
    }
  });

  test("in a result that is cut", () => {
    const messages = [
      { role: "assistant", content: [{ type: "toolCall", id: "1", name: "ls", arguments: {} }] },
      {
        role: "toolResult",
        toolCallId: "1",
        toolName: "ls",
        content: [widget, { type: "text", text: LONG }],
      },
    ];
    const { content } = guardContext(messages, options).messages[1];
    assert.ok(content.includes(widget));
    assert.ok(content.find(({ type }) => type === "text").text.length < 4100);
  });

  test("a file of an unknown type counts without its bytes", () => {
    const file = { type: "blob", name: "a.bin", data: "QUJD".repeat(50_000) };
    assert.ok(countTokens({ role: "user", content: [file] }) < 30);
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    assert.equal(countTokens({ role: "user", content: "", blocks: [image] }), 1200);
  });
});

describe("a small cap", () => {
  test("shrinks head and tail to fit it", async () => {
    for (const maxToolResultChars of [100, 1000, 4000, 4039, 4040]) {
      const cut = truncateToolResult(LONG, { maxToolResultChars });
      assert.ok(cut.length <= maxToolResultChars && cut.length > maxToolResultChars * 0.8, `${cut.length}`);
      assert.equal(truncateToolResult(LONG, maxToolResultChars), cut);
      const messages = [
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: [{ type: "toolCall", id: "1", name: "ls", arguments: {} }],
          stopReason: "toolUse",
        },
        { role: "toolResult", toolCallId: "1", toolName: "ls", content: [{ type: "text", text: LONG }] },
      ];
      const guarded = guardContext(messages, { ...options, maxToolResultChars });
      assert.equal(guarded.messages[2].content[0].text, cut);
    }
    assert.equal(truncateToolResult("short", 3), "short", "a cut never lengthens");
    assert.throws(() => truncateToolResult("text", -1), TypeError);
  });

  test("never lengthens, never goes over the cap where that can be", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 600 }),
        fc.nat(700),
        fc.nat(400),
        fc.nat(400),
        (text, max, head, tail) => {
          const cut = truncateToolResult(text, {
            maxToolResultChars: max,
            truncateHeadChars: head,
            truncateTailChars: tail,
          });
          assert.ok(cut.length <= text.length && (cut === text || cut.length <= Math.max(max, 45)));
        },
      ),
    );
  });
});

describe("through a session's messages and back", () => {
  const text = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
  const textBlock = text.map((value) => ({ type: "text", text: value }));
  const image = text.map((value) => ({ type: "image", data: value, mimeType: "image/png" }));
  const plain = fc.tuple(textBlock).map((blocks) => blocks);
  const mixed = fc
    .tuple(image, fc.array(fc.oneof(textBlock, image), { maxLength: 3 }))
    .map(([first, rest]) => [first, ...rest]);
  const json = fc.jsonValue({ maxDepth: 3 });
  const call = fc.record({
    type: fc.constant("toolCall"),
    id: text,
    name: text,
    arguments: fc.dictionary(text, json, { maxKeys: 3, noNullPrototype: true }),
  });
  const timestamp = fc.integer({ min: 1, max: 4e12 });
  const comparable = ({ role, content, toolCallId, isError, timestamp, sections }) =>
    JSON.parse(JSON.stringify({ role, content, toolCallId, isError, timestamp, sections }));

  test("pi's messages are what they were", () => {
    const message = fc.oneof(
      fc.record({ role: fc.constant("user"), content: fc.oneof(plain, mixed), timestamp }),
      fc.record({
        role: fc.constant("system"),
        content: text,
        sections: fc.dictionary(text, fc.oneof(text, fc.constant(null)), {
          maxKeys: 3,
          noNullPrototype: true,
        }),
        timestamp,
      }),
      fc
        .tuple(
          plain,
          fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
          fc.oneof(plain, mixed),
          timestamp,
        )
        .map(([said, calls, content, time]) => [
          { role: "assistant", content: [...said, ...calls], stopReason: "toolUse", timestamp: time },
          ...calls.map(({ id }) => ({
            role: "toolResult",
            toolCallId: id,
            content,
            isError: true,
            timestamp: time,
          })),
        ]),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), (drawn) => {
        const messages = drawn.flat();
        const neutral = messages.map(fromAgentMessage);
        assert.deepEqual(toAgentMessages(neutral).map(comparable), messages.map(comparable));
        for (const one of neutral) assert.ok(one.content !== "" || one.role === "assistant");
      }),
      { numRuns: 200 },
    );
  });

  test("arguments keep every digit and quote", () => {
    const given = fc.oneof(
      json.map((value) => JSON.stringify(value)),
      fc.bigInt().map((value) => `{"id":${value}}`),
      fc.constantFrom(
        '{"id":12345678901234567890}',
        '"a text"',
        "{ }",
        "no JSON",
        "",
        "[1.0]",
        '{"a":1e400}',
      ),
    );
    fc.assert(
      fc.property(given, (text) => {
        const said = { role: "assistant", content: "", toolCalls: [{ id: "1", name: "f", arguments: text }] };
        const [call] = fromAgentMessage(toAgentMessages([said])[0]).toolCalls;
        const back = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
        assert.equal(back, text);
      }),
    );
  });
});
