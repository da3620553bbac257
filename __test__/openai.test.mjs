// Messages to and from OpenAI's chat format and pi's: both ways back are exact, arguments and images included.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  ContextManager,
  fromAgentMessage,
  fromOpenAIMessages,
  toAgentMessages,
  toOpenAIMessages,
} from "pi-strata/sessions";
import strata from "../index.js";
import * as made from "./support/messages.mjs";
import { open } from "./support/sqlite.mjs";
import { table } from "./support/tables.mjs";
import { judge } from "./support/wire/judge.mjs";

const call1 = { id: "1", name: "read", arguments: { path: "a" } };
const call2 = { id: "2", name: "read", arguments: { path: "b" } };
const openAICall = (id, text, name = "f") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: text } }],
});
/** Arguments that JavaScript's values cannot say, or not in this spelling. */
const ODD_ARGUMENTS = [
  ...["12345678901234567890", '{"id":12345678901234567890}', '{"id": 1.0, "x": 1e400}', '"a string"', ""],
  ...['{ "spaced" : [1,  2] }', '{"b":1,"a":2,"1":3}', '{"a":1,"a":2}', "null", "no JSON", "{ }"],
];
const url = (data) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } });

describe("OpenAI's shapes", () => {
  const plain = { noNullPrototype: true };
  const record = (model, constraints = {}) => fc.record(model, { ...plain, ...constraints });
  const id = fc.string({ minLength: 1 });
  /** What a model may write: JSON in its own spelling, half of it, or anything. */
  const argumentText = fc.oneof(
    fc.json(),
    fc.jsonValue().map((value) => JSON.stringify(value, null, 1)),
    fc.json().map((text) => text.slice(1)),
    fc.bigInt().map(String),
    fc.double().map((number) => `{"n":${number}}`),
    fc.constantFrom(...ODD_ARGUMENTS),
    fc.string(),
  );

  describe("from OpenAI and back", () => {
    const url = fc.oneof(
      fc.base64String().map((data) => `data:image/png;base64,${data}`),
      fc.constantFrom("https://example.org/a.png", "data:text/plain,a", "data:;base64,"),
    );
    const part = fc.oneof(
      record({ type: fc.constant("text"), text: fc.string() }),
      record({
        type: fc.constant("image_url"),
        image_url: record({ url, detail: fc.constantFrom("low", "high") }, { requiredKeys: ["url"] }),
      }),
      record({
        type: fc.constant("input_audio"),
        input_audio: record({ data: fc.string(), format: fc.string() }),
      }),
      record({ type: fc.constant("refusal"), refusal: fc.string() }),
      fc.constantFrom({ type: "new" }, null),
    );
    const content = fc.oneof(fc.string(), fc.array(part), fc.constant(null));
    const openCall = fc.oneof(
      record(
        {
          id,
          type: fc.constant("function"),
          function: record({ name: fc.string(), arguments: argumentText }),
          extra_content: fc.constant({ google: { thought_signature: "c2ln" } }),
        },
        { requiredKeys: ["id", "type", "function"] },
      ),
      record({ id, type: fc.constant("custom"), custom: record({ name: fc.string(), input: fc.string() }) }),
    );
    const spoken = record(
      { role: fc.constantFrom("system", "developer", "user"), content, name: fc.string() },
      { requiredKeys: ["role", "content"] },
    );
    const extras = {
      refusal: fc.oneof(fc.string(), fc.constant(null)),
      reasoning_content: fc.string(),
      reasoning: fc.oneof(fc.string(), fc.constant(null)),
      reasoning_details: fc.constant([{ type: "reasoning.encrypted", data: "XYZ" }]),
    };
    const answered = record(
      { role: fc.constant("assistant"), content, ...extras, tool_calls: fc.array(openCall) },
      { requiredKeys: ["role"] },
    );
    const result = record({ role: fc.constant("tool"), tool_call_id: id, content });

    test("every message is where it was, as it was", () => {
      fc.assert(
        fc.property(fc.array(fc.oneof(spoken, answered, result)), (messages) => {
          const ours = fromOpenAIMessages(messages);
          assert.deepEqual(toOpenAIMessages(ours), messages);
          assert.deepEqual(toOpenAIMessages(JSON.parse(JSON.stringify(ours))), messages);
          // A result needs its call, pi's answers hold no images, and ids are cut before a `|`.
          const isLost = ({ role, ...message }) =>
            role === "tool" || (role === "assistant" && /image_url|\|/.test(JSON.stringify(message)));
          const spoken = messages.filter((message) => !isLost(message));
          const agents = toAgentMessages(fromOpenAIMessages(spoken), { api: "openai-completions" });
          assert.deepEqual(toOpenAIMessages(agents), spoken);
          const idsIn = (list) =>
            list.flatMap(({ tool_call_id: id = [], tool_calls: calls = [] }) => [id, ...calls].flat());
          const again = idsIn(toOpenAIMessages(messages));
          assert.deepEqual(again, idsIn(messages), "converted twice, none is lost");
          for (const options of [{}, { database: open(":memory:") }]) {
            const manager = new ContextManager({ ...options, maxMessages: 100 });
            for (const message of ours) manager.addMessage("s", message);
            assert.deepEqual(toOpenAIMessages(manager.getMessages("s")), messages, "accepted as they are");
          }
        }),
      );
    });
  });

  describe("from OpenAI to an agent and back", () => {
    const api = "openai-completions";
    const agentList = (messages, model = { api }) => toAgentMessages(fromOpenAIMessages(messages), model);
    const ask = {
      role: "user",
      name: "anna",
      content: [
        { type: "text", text: "look ".repeat(200) },
        { type: "image_url", image_url: { url: "https://example.org/a.png" } },
        { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      ],
    };
    const thought = {
      role: "assistant",
      content: null,
      reasoning_content: "I must read.",
      reasoning_details: [{ type: "reasoning.encrypted", data: "XYZ" }],
      refusal: null,
      tool_calls: [
        {
          id: "1",
          type: "function",
          function: { name: "read", arguments: '{"n": 12345678901234567890}' },
          extra_content: { google: { thought_signature: "s" } },
        },
        { id: "2", type: "custom", custom: { name: "patch", input: "*** Begin" } },
      ],
    };
    const results = ["1", "2"].map((id) => ({
      role: "tool",
      tool_call_id: id,
      name: "n",
      content: "long ".repeat(200),
    }));
    const list = [
      { role: "developer", name: "d", content: "Be brief." },
      ask,
      thought,
      ...results,
      { role: "assistant", content: null, refusal: "I cannot." },
      {
        role: "assistant",
        content: [
          { type: "refusal", refusal: "No." },
          { type: "text", text: "But" },
        ],
      },
    ];

    test("unedited messages are as they were, also of a stored list and by another api", () => {
      for (const model of [{ api }, { api: "other" }, undefined]) {
        const ours = agentList(list, model);
        assert.deepEqual(toOpenAIMessages(ours), list);
        assert.deepEqual(toOpenAIMessages(JSON.parse(JSON.stringify(ours))), list);
      }
      const [, , { content }] = agentList(list);
      assert.deepEqual(content[0], made.thinking("I must read.", "reasoning_content"));
    });

    test("edited ones keep what was not edited", () => {
      const edit = (block) =>
        block.type === "text" && block.text.length > 500 ? { ...block, text: "cut" } : block;
      const edited = agentList(list).map((message) => {
        if (!Array.isArray(message.content)) return message;
        const content = message.content.filter(({ type }) => type !== "thinking").map(edit);
        return { ...message, content };
      });
      const { reasoning_content: _, ...unthought } = thought;
      assert.deepEqual(toOpenAIMessages(edited), [
        list[0],
        { ...ask, content: [made.text("cut"), ...ask.content.slice(1)] },
        unthought,
        ...results.map((result) => ({ ...result, content: "cut" })),
        ...list.slice(5),
      ]);
    });
  });

  describe("to OpenAI and back", () => {
    const value = fc
      .json()
      .map((json) => JSON.parse(json))
      .map((json) => JSON.parse(JSON.stringify(json)))
      .filter((json) => typeof json !== "string" && isShort(json));
    const call = record({ id, name: fc.string(), arguments: value });
    const text = record({ type: fc.constant("text"), text: fc.string({ minLength: 1 }) });
    const image = record({
      type: fc.constant("image"),
      mimeType: fc.constantFrom("image/png", "image/jpeg"),
      data: fc.base64String(),
    });
    const blocks = fc
      .tuple(fc.array(text, { maxLength: 1 }), fc.array(image, { minLength: 1 }))
      .map((all) => all.flat())
      .map((all) => ({ content: all.flatMap(({ text: words }) => words ?? []).join(), blocks: all }));
    const said = record({ role: fc.constantFrom("system", "user", "assistant"), content: fc.string() });
    const shown = blocks.map((content) => ({ role: "user", ...content }));
    const answer = fc.string().map((content) => ({ content }));
    const turn = fc
      .tuple(
        fc.string(),
        fc.uniqueArray(call, { minLength: 1, maxLength: 4, selector: ({ id: name }) => name }),
      )
      .chain(([content, toolCalls]) =>
        fc
          .tuple(...toolCalls.map(() => answer))
          .map((contents) => [
            { role: "assistant", content, toolCalls },
            ...contents.map((given, i) => ({ role: "tool", ...given, toolCallId: toolCalls[i].id })),
          ]),
      );

    test("every message is where it was, as it was", () => {
      const one = fc.oneof(said, shown).map((message) => [message]);
      fc.assert(
        fc.property(
          fc.array(fc.oneof(one, turn)).map((all) => all.flat()),
          (messages) => assert.deepEqual(fromOpenAIMessages(toOpenAIMessages(messages)), messages),
        ),
      );
    });
  });

  test("a list of another shape is a TypeError that names its door", () => {
    const shapes = Object.entries(table("foreign-shapes.json"));
    const own = /"(?:tool|developer|tool_calls|tool_call_id|toolResults)"/;
    const refused = { name: "TypeError", message: / go through |nothing reads / };
    for (const [mark, list] of shapes.filter(([mark]) => !own.test(mark)))
      for (const convert of [toOpenAIMessages, fromOpenAIMessages, toAgentMessages])
        assert.throws(() => convert(list), refused, `${convert.name} ${mark}`);
    const found = { role: "assistant", content: "", toolResults: [{ success: true, data: "a" }] };
    assert.throws(() => toAgentMessages([found]), /make each result a message of its own/);
    assert.throws(
      () => toAgentMessages([{ role: "developer", content: "Be brief." }]),
      /must be a session's/,
    );
  });

  test("a pi conversation becomes a request", () => {
    const messages = [
      { role: "system", content: "s" },
      made.user([made.text("look"), made.image]),
      made.answer([made.thinking(), made.call("1", { arguments: { path: "a" } })]),
      made.result("1", "text"),
      made.answer(":2", { stopReason: "aborted" }),
      made.result("2", []),
      { role: "compactionSummary", summary: "before" },
      { role: "bashExecution", command: "ls", output: "a" },
      { role: "bashExecution", command: "pwd", output: "/", excludeFromContext: true },
    ];
    assert.deepEqual(toOpenAIMessages(messages), [
      { role: "system", content: "s" },
      { role: "user", content: [made.text("look"), url("AAAA")] },
      openAICall("1", '{"path":"a"}', "read"),
      { role: "tool", tool_call_id: "1", content: "text" },
      { role: "user", content: "before" },
      { role: "user", content: "$ ls\na" },
    ]);
  });

  test("arguments that are no JSON stay as the model wrote them", () => {
    const broken = openAICall("1", "{oops");
    const toolCalls = [{ id: "1", name: "f", arguments: "{oops" }];
    assert.deepEqual(fromOpenAIMessages([broken]), [{ role: "assistant", content: "", toolCalls }]);
    for (const [odd, shown] of [
      [{ role: "app", content: "" }, '"app"'],
      [{}, "undefined"],
      [null, "undefined"],
    ]) {
      const refused = `fromOpenAIMessages: the role of message 1 is ${shown}; it must be "system"`;
      assert.throws(
        () => fromOpenAIMessages([broken, odd]),
        (error) => error instanceof TypeError && error.message.startsWith(refused),
      );
    }
    const developer = { role: "developer", content: [{ type: "text", text: "a" }] };
    assert.deepEqual(fromOpenAIMessages([developer]), [
      { role: "system", content: "a", original: developer },
    ]);
  });

  test("arguments keep every character", () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const messages = [...ODD_ARGUMENTS, '{"n":-0}', deep].map((text) => openAICall("c", text));
    const ours = fromOpenAIMessages(messages);
    assert.deepEqual(toOpenAIMessages(ours), messages);
    const kept = ours.slice(0, 6).map(({ toolCalls }) => toolCalls[0].arguments);
    assert.deepEqual(kept, [...ODD_ARGUMENTS.slice(0, 5), { spaced: [1, 2] }]);
    // What a host changes since is what is sent, with everything else as it was.
    const [changed] = fromOpenAIMessages([{ ...openAICall("c", '{ "a": 1 }'), name: "planner" }]);
    changed.toolCalls[0].arguments = { a: 2 };
    assert.deepEqual(toOpenAIMessages([changed]), [{ ...openAICall("c", '{"a":2}'), name: "planner" }]);
  });

  test("a session that a crash or a second agent left invalid becomes a request by repair", () => {
    const asks = (...ids) => ({
      ...openAICall(ids[0], "{}"),
      tool_calls: ids.flatMap((id) => openAICall(id, "{}").tool_calls),
    });
    const answers = (id) => ({ role: "tool", tool_call_id: id, content: id });
    const says = (role, content) => ({ role, content });
    const lists = [
      [says("user", "go"), asks("1", "2"), answers("2"), says("user", "are you there?")],
      [says("user", "go"), asks("1"), says("assistant", "fine"), answers("1"), says("user", "next")],
    ];
    for (const list of lists) {
      const stored = fromOpenAIMessages(list).map((message, i) => ({
        ...message,
        original: { ...list[i], name: "n" },
      }));
      for (const session of [fromOpenAIMessages(list), stored]) {
        const check = (messages) => judge("openai-completions", { model: "m", messages, tools: [{}] });
        assert.notDeepEqual(check(toOpenAIMessages(session)), []);
        assert.deepEqual(check(toOpenAIMessages(strata.repair(toAgentMessages(session)))), []);
      }
    }
  });

  test("images of a tool's answer follow its answers", () => {
    const image = (data) => ({ type: "image", mimeType: "image/png", data });
    const messages = [
      { role: "assistant", content: "", toolCalls: [call1, call2] },
      { role: "tool", toolCallId: "1", content: "", blocks: [image("AAAA"), image("BBBB")] },
      { role: "tool", toolCallId: "2", content: "two", blocks: [made.text("two"), image("CCCC")] },
      { role: "user", content: "and?" },
    ];
    const sent = toOpenAIMessages(messages);
    assert.deepEqual(
      sent.map(({ role, content }) => [
        role,
        Array.isArray(content) ? content.map(({ type }) => type) : content,
      ]),
      [
        ["assistant", null],
        ["tool", "(see attached image)"],
        ["tool", "two"],
        ["user", ["text", "image_url", "image_url", "text", "image_url"]],
        ["user", "and?"],
      ],
    );
    assert.deepEqual(toOpenAIMessages(fromOpenAIMessages(sent)), sent);
  });

  test("images of a managed session go without the note that stands for them in its text", async () => {
    const manager = new ContextManager();
    const image = { type: "image", mimeType: "image/png", data: "aGk=" };
    await manager.addMessage("images", { role: "user", content: [{ type: "text", text: "Look:" }, image] });
    await manager.addMessage("images", { role: "user", content: [image] });
    const messages = await manager.getMessages("images");
    assert.equal(messages[0].content, "Look:\n[image]");
    const sent = toOpenAIMessages(messages).map(({ content }) => content);
    assert.deepEqual(sent, [[made.text("Look:"), url("aGk=")], [url("aGk=")]]);
    const [changed] = toOpenAIMessages([{ ...messages[0], content: "Look again." }]);
    assert.deepEqual(changed.content, [made.text("Look again."), url("aGk=")], "changed words hold");
  });

  test("pi's sections are part of the prompt", () => {
    const leading = {
      role: "system",
      content: "base",
      sections: { tools: "<tools>", gone: null, style: "brief" },
    };
    const later = { role: "system", content: "", sections: { style: "long", tools: null } };
    const [first, , last] = toOpenAIMessages([leading, { role: "user", content: "a" }, later]);
    assert.equal(first.content, "base\n\n<tools>\n\nbrief");
    assert.match(last.content, /"style" .* now:\n\nlong\n\n.*"tools" .* no longer/s);
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
  const comparable = ({ role, content, toolCallId, isError, timestamp }) =>
    JSON.parse(JSON.stringify({ role, content, toolCallId, isError, timestamp }));

  test("pi's messages are what they were", () => {
    const message = fc.oneof(
      fc.record({ role: fc.constant("user"), content: fc.oneof(plain, mixed), timestamp }),
      fc.record({
        role: fc.constant("system"),
        content: text,
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
          ...calls.map(({ id }) => made.result(id, content, { isError: true, timestamp: time })),
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
      fc.constantFrom(...ODD_ARGUMENTS),
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

/** True if JavaScript's numbers say all of it: longer ones stay text. */
function isShort(value) {
  const numbers = JSON.stringify(value).replace(/"(?:[^"\\]|\\.)*"/g, "");
  return !/\d{16}|\de|\.\d{14}/.test(numbers);
}
