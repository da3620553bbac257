// The context guard against an independent model of it, at its edges, and on messages of other stacks.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { createContextGuard, estimateContextTokens, guardContext, truncateToolResult } from "pi-strata/guard";
import strata from "../index.js";
import { fieldsOf } from "./support/fields.mjs";
import { answer, result, text, user } from "./support/messages.mjs";
import { conversation, dice } from "./support/transcripts.mjs";

const { countTokens, validate } = strata;

const LONG = "log line of a tool\n".repeat(5000);
const options = { contextWindow: 200_000 };

const sizes = (max, end) =>
  fc.record({
    maxToolResultChars: fc.nat(max),
    truncateHeadChars: fc.nat(end),
    truncateTailChars: fc.nat(end),
  });

describe("truncateToolResult", () => {
  test("agrees with plain slicing on text without pairs", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400, unit: "binary-ascii" }), sizes(200, 40), (text, options) => {
        const { maxToolResultChars: max, truncateHeadChars: head, truncateTailChars: tail } = options;
        const omitted = text.length - head - tail;
        const note = `\n\n... [${omitted} characters truncated] ...\n\n`;
        const cut = text.slice(0, head) + note + text.slice(text.length - tail);
        const expected = text.length > max && omitted > 0 && cut.length < text.length ? cut : text;
        assert.equal(truncateToolResult(text, options), expected);
      }),
    );
  });

  test("shrinks head and tail to fit a small cap", () => {
    for (const maxToolResultChars of [100, 1000, 4000, 4039, 4040]) {
      const cut = truncateToolResult(LONG, { maxToolResultChars });
      assert.ok(cut.length <= maxToolResultChars && cut.length > maxToolResultChars * 0.8, `${cut.length}`);
      assert.equal(truncateToolResult(LONG, maxToolResultChars), cut);
      const messages = [user("go"), answer(":1"), result("1", LONG)];
      const guarded = guardContext(messages, { ...options, maxToolResultChars });
      assert.equal(guarded.messages[2].content[0].text, cut);
    }
  });

  test("never lengthens, never goes over the cap where that can be", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 600 }), sizes(700, 400), (text, options) => {
        const cut = truncateToolResult(text, options);
        assert.ok(
          cut.length <= text.length &&
            (cut === text || cut.length <= Math.max(options.maxToolResultChars, 45)),
        );
        assert.ok(cut.isWellFormed(), "no half of a surrogate pair");
      }),
    );
  });

  test("refuses what is no text and options that are off", () => {
    for (const odd of [[7], ["text", -1]]) assert.throws(() => truncateToolResult(...odd), TypeError);
    assert.throws(() => truncateToolResult("", { maxToolResultChars: -1 }), /maxToolResultChars is -1/);
  });
});

const isSpoken = ({ role }) => /^(system|user|assistant|toolResult)$/.test(role);

describe("guardContext", () => {
  test("agrees with an independent walk back over generated transcripts", async () => {
    const options = { reserveTokens: 0, maxToolResultChars: 300 };
    const cap = { truncateHeadChars: 60, truncateTailChars: 60 };
    for (let seed = 0; seed < 200; seed += 1) {
      const messages = conversation(seed, { length: 1 + (seed % 40) }).filter(isSpoken);
      const contextWindow = 20 + dice(seed)(3000);
      const { messages: kept, dropped } = guardContext(messages, { ...options, ...cap, contextWindow });
      assert.deepEqual(
        kept,
        walkBack(messages, contextWindow, { maxToolResultChars: 300, ...cap }),
        `seed ${seed}`,
      );
      assert.equal(dropped, messages.length - kept.length);
      const allowed = new Set(validate(messages).map(({ rule }) => rule));
      assert.deepEqual(
        validate(kept).filter(({ rule }) => !allowed.has(rule)),
        [],
      );
    }
  });

  test("refuses another way of counting, and a window that is none in place of the given one", () => {
    assert.throws(() => guardContext([], { contextWindow: 1, counting: "tiktoken" }), /"exact", "chars"/);
    const replaced = { contextWindow: 1, contextWindowOverride: -1 };
    assert.throws(() => guardContext([], replaced), /contextWindowOverride is -1/);
  });
});

describe("items of OpenAI's Responses API", () => {
  const call = (id) => ({ type: "function_call", id: `fc${id}`, call_id: id, name: "logs", arguments: "{}" });
  const sealed = "x".repeat(9000);
  const reasoning = (id) => ({ type: "reasoning", id: `rs${id}`, summary: [], encrypted_content: sealed });

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
    assert.deepEqual(fieldsOf(truncated, "toolName"), ["logs", "shell"]);
    assert.equal(countTokens(items.slice(2, 3)), 0, "encrypted reasoning is no text");
    assert.ok(countTokens(items.slice(1, 2)) > 1200);
    assert.equal(countTokens(items.at(-1)), 1200);
  });

  test("go with their results and with the other items of their answer", () => {
    const step = (id) => [
      reasoning(`${id}a`),
      {
        type: "message",
        role: "assistant",
        id: `msg${id}`,
        content: [{ type: "output_text", text: "Look." }],
      },
      call(`${id}a`),
      call(`${id}b`),
      { type: "function_call_output", call_id: `${id}a`, output: "word ".repeat(3000) },
      { type: "function_call_output", call_id: `${id}b`, output: "ok" },
    ];
    const approval = (id) => [
      { type: "mcp_approval_request", id: `m${id}`, name: "run", arguments: `"${"word ".repeat(3000)}"` },
      { type: "mcp_approval_response", approval_request_id: `m${id}`, approve: true },
    ];
    for (const group of [step, approval]) {
      const items = [{ role: "user", content: "q" }, ...group(1), ...group(2), ...group(3)];
      for (let contextWindow = 500; contextWindow < 12_000; contextWindow += 500) {
        const { messages } = guardContext(items, { contextWindow, reserveTokens: 0 });
        const kept = Math.floor(messages.length / group(1).length);
        assert.deepEqual(messages, [items[0], ...items.slice(items.length - group(1).length * kept)]);
      }
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
    const messages = [answer(":1"), result("1", [widget, text(LONG)])];
    const { content } = guardContext(messages, options).messages[1];
    assert.ok(content.includes(widget));
    assert.ok(content.find(({ type }) => type === "text").text.length < 4100);
  });
});

describe("createContextGuard", () => {
  test("never throws: bad input comes back as it is, and is reported", async () => {
    const events = [];
    const guard = createContextGuard({ contextWindow: 9_000, onEvent: (event) => events.push(event) });
    assert.equal(await guard("nonsense"), "nonsense");
    assert.equal(events[0].code, "ERR_INVALID_INPUT");
    for (const odd of [["x"], [null]]) assert.equal(await guard(odd), odd);
    await guard([{ role: "user", parts: [{ text: "hi" }] }]);
    assert.deepEqual(fieldsOf(events, "code"), Array(4).fill("ERR_INVALID_INPUT"));
    assert.match(events.at(-1).message, /Gemini's contents/);
    const onEvent = () => assert.fail("listener");
    const throwing = createContextGuard({ contextWindow: 9_000, onEvent });
    assert.equal((await throwing([user("x ".repeat(9000)), answer("a"), user("b")])).length, 1);
    for (const odd of [[null, { role: "developer" }], [{ role: "developer", content: 7 }], "no array"])
      assert.equal(await guard(odd), odd);
    const aborted = [user("x ".repeat(9000)), answer("a"), user("b")];
    assert.equal(await guard(aborted, AbortSignal.abort()), aborted);
  });
});

/** The guard, told again in the plainest way: cap, then rounds from the newest back, then groups. */
function walkBack(messages, budget, cap) {
  const capped = messages.map((message) => cappedResult(message, cap));
  const isSystem = ({ role }) => role === "system";
  const system = capped.filter(isSystem);
  const tokens = (list) => countTokens([...system, ...list]);
  const groups = [];
  for (const message of capped.filter((message) => !isSystem(message))) {
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
  const [first, ...others] = message.content.filter(({ type }) => type === "text");
  const whole = [first, ...others].map((block) => block?.text).join("\n");
  const cut = truncateToolResult(whole, cap);
  if (cut === whole) return message;
  const kept = message.content.filter((block) => !others.includes(block));
  return { ...message, content: kept.map((block) => (block === first ? { ...block, text: cut } : block)) };
}

test("a PDF counts by its size in every shape, and at most as a page; what is none counts without its bytes", () => {
  const partsOf = (bytes, media = "application/pdf") => {
    const data = bytes.toString("base64");
    const file_data = `data:${media};base64,${data}`;
    return [
      { type: "file", data, mediaType: media },
      { type: "file", data: Buffer.concat([Buffer.alloc(9), bytes]).subarray(9), mediaType: media },
      { type: "file", data: new Uint8Array(bytes), mediaType: media },
      { type: "file", data: new Uint8Array(bytes).buffer, mediaType: media },
      { type: "file", data: new URL(file_data), mediaType: media },
      { type: "file", file: { file_data } },
      { type: "input_file", file_data },
      { type: "document", source: { type: "base64", media_type: media, data } },
    ];
  };
  const tokensOf = (part) =>
    estimateContextTokens([{ role: "user", content: [part] }], { counting: "exact" });
  const pdf = (size) => Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(size)]);
  for (const [size, tokens] of [
    [40_000, 2_000],
    [3_000_000, 3_000],
  ])
    for (const part of partsOf(pdf(size)))
      assert.ok(Math.abs(tokensOf(part) - tokens) < 50, `${tokensOf(part)}`);
  for (const media of ["audio/wav", "application/pdf"])
    for (const part of partsOf(Buffer.alloc(100_000), media)) assert.ok(tokensOf(part) < 50, media);
});
