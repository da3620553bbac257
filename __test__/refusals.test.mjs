// Requests refused for their length: an error's words are read, the limit that they name is learned, and the next request
// is smaller by what is needed. A provider that counts, caches and refuses stands at the other end.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { countTokens, createTransformContext } from "../index.js";
import { talk } from "./support/live/talk.mjs";
import { answer, result, user } from "./support/messages.mjs";
import { REFUSALS as WORDS } from "./support/refusals.mjs";

const require = createRequire(import.meta.url);
const { readRefusal } = require("../lib/hook/refusals.js");

const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: {} };
/** An answer that failed with these words. */
const refused = (errorMessage, more) =>
  answer([], { stopReason: "error", usage: USAGE, errorMessage, ...more });

/** The same where the answer counts, too. */
const WITH_OUTPUT = {
  Anthropic: (n, o, l) =>
    `400 input length and \`max_tokens\` exceed context limit: ${n} + ${o} > ${l}, decrease input length or \`max_tokens\` and try again`,
  DeepSeek: (n, o, l) =>
    `400 This model's maximum context length is ${l} tokens. However, you requested ${n + o} tokens (${n} in the messages, ${o} in the completion).`,
  vLLM: (n, o, l) =>
    `'max_tokens' or 'max_completion_tokens' is too large: ${o}. This model's maximum context length is ${l} tokens and your request has ${n} input tokens (${o} > ${l} - ${n}).`,
  OpenRouter: (n, o, l) =>
    `This endpoint's maximum context length is ${l} tokens. However, you requested about ${n + o} tokens (${n} of text input, ${o} in the output).`,
  TGI: (n, o, l) =>
    `Input validation error: \`inputs\` tokens + \`max_new_tokens\` must be <= ${l}. Given: ${n} \`inputs\` tokens and ${o} \`max_new_tokens\``,
  TabbyAPI: (n, o, l) => `ValueError: Request length ${n} + ${o} is greater than max_seq_len ${l}`,
  Novita: (n, o, l) =>
    `invalid max_tokens value, context length exceeded: the max_tokens ${o} plus prompt tokens ${n} exceeds ${l}`,
  "sum in words": (n, o, l) =>
    `The input (${n} tokens) plus max_tokens (${o}) exceeds the model's context length (${l})`,
  watsonx: (n, o, l) =>
    `the number of input tokens ${n} and max_new_tokens ${o} cannot exceed the total tokens limit ${l}`,
};

/** Words that name a limit, by it, beside numbers that are no tokens of the prompt. */
const LIMIT_ONLY = [
  (l) => `max_length is too high. Input text should contain less than ${l} tokens`,
  (l) => `400 max tokens of ${l} exceeded`,
  (l) => `AiError: 8007: Ai: Exceeded maximum input tokens. Max input tokens: ${l}`,
  (l) => `{"error_code":336103,"error_msg":"the max input length is ${l}"}`,
  (l) => `The total length of input text and max_tokens exceeds the model's context length ${l}`,
  (l) =>
    `This model's maximum context length is ${l} tokens. However, you requested 0 output tokens and your prompt contains 412345 characters (more than 229376 characters, which is the upper bound for ${l} input tokens).`,
  (l) => `upstream http://10.0.0.7:8080 returned 400: the prompt is too long, maximum ${l}`,
];

/** Words without a number. */
const NUMBERLESS = [
  "AssertionError: Job requires 290 pages (only 256 available) and cannot be enqueued. Total cache allocated is 65536 tokens",
  "token too long",
  "Too many total text bytes: 1234567 > 400000",
  "Your input exceeds the context window of this model. Please adjust your input and try again.",
  '{"error":{"code":"context_length_exceeded","message":"x"}}',
  "400 Please reduce the length of the messages or completion.",
  "400 the request exceeds the available context size. try increasing the context size or enable context shift",
  "400 invalid params, context window exceeds limit (2013)",
  "ValidationException: Input is too long for requested model.",
  '413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
  "model_context_window_exceeded",
  "context_too_large",
  '{"type":"error","error":{"code":"1261","message":"[1261][Prompt too long][20260929]"}}',
  '{"base_resp":{"status_code":1039,"status_msg":"token limit exceeded"}}',
  "Invalid 'input[308].output': string too long. Expected a string with maximum length 10485760.",
  "輸入內容超過模型的上下文長度上限",
  "参数 messages 总长度不能超过20000个字符",
  '{"error":{"code":"1261","message":"Prompt 超长"}}',
  String.raw`{"error":{"message":"\u8f93\u5165\u957f\u5ea6\u8d85\u8fc7\u4e0a\u9650"}}`,
  "413 Request Entity Too Large",
  "对话内容过长，请新建对话",
  '{"name":"BadRequestError","message":"Input is too long for requested model"}',
  '{"error":{"id":"req_01","message":"Prompt is too long","code":400}}',
  "The conversation is too long for this model. Start a new chat.",
];

/** Words that no row of the table was written from, by the tokens of the prompt and the limit. */
const HELD_BACK = [
  (n, l) =>
    `ValueError: The prompt (total length ${n}) is too long to fit into the model (context length ${l})`,
  (n, l) => `Prompt length of ${n} is longer than the maximum model length of ${l}.`,
  (n, l) => `Input prompt (${n} tokens) is too long and exceeds limit of ${l}`,
  (n, l) =>
    `Input length (${n} tokens) exceeds the maximum allowed length (${l} tokens). Use a shorter input.`,
  (n, l) => `Input tokens exceed the configured limit of ${l} tokens. Your messages resulted in ${n} tokens.`,
  (n, l) => `Prompt tokens (${n}) exceeds context size (${l})`,
  (n, l) =>
    `{"error":{"type":"invalid_request_error","message":"The prompt is too long: ${n}, model maximum context length: ${l}"}}`,
  (n, l) => `Prompt exceeds ${l.toLocaleString("en")} token limit (${n.toLocaleString("en")} tokens)`,
  (n, l) => `Context length ${n} is greater than max_seq_len ${l}`,
  (n, l) =>
    `{"code":20015,"message":"length of prompt_tokens (${n}) must be less than max_seq_len (${l}).","data":null}`,
  (n, l) => `the number of input tokens ${n} cannot exceed the total tokens limit ${l} for this model`,
  (n, l) =>
    `Unable to submit request because the input token count is ${n} but model only supports up to ${l}.`,
  (n, l) => `Request prompt has ${n} tokens in total, larger than the model input length limit ${l}.`,
  (n, l) => `Requested tokens ${n} exceeds model's max sequence length of ${l}`,
  (n, l) => `Upstream error: {"detail":"Context length exceeded: ${n} > ${l}"}`,
  (n, l) => `Error: prompt length (${n}) is over the model's context limit (${l})`,
  (n, l) => `Your messages have ${n} tokens but this deployment accepts no more than ${l}.`,
  (n, l) => `upstream_error: input_tokens (${n}) > max_input_tokens (${l})`,
  (n, l) => `The model has a context window of ${l} tokens but received ${n} tokens.`,
  (n, l) => `failed to process prompt: context full (n_past=${n}, n_ctx=${l})`,
  (n, l) => `输入的总 token 数（${n}）超过了模型支持的最大上下文（${l}）`,
  (n, l) => `请求的上下文长度 ${n} 大于模型最大长度 ${l}`,
  (n, l) => `Le prompt dépasse la limite : ${n} tokens pour un maximum de ${l} tokens`,
  (n, l) => `Слишком длинный запрос: ${n} токенов, максимум ${l} токенов`,
  (n, l) => `Provider returned error: {"error":"prompt_too_long","limit":${l},"tokens":${n}}`,
  (n, l) => `sequence of ${n} tokens does not fit in the KV cache (${l})`,
  (n, l) => `BadRequestError: ${n} input tokens exceed the maximum context length of ${l}`,
  (n, l) => `context window exceeded: requested ${n} tokens, limit ${l}`,
];

/** Errors about something else. */
const OTHERS = [
  "429 Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 120000.",
  "413 Request too large for model `llama-3.3-70b` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
  "429 Too many tokens, please wait before trying again.",
  "400 status code (no body)",
  "413 status code (no body)",
  "400 messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
  "fetch failed: ECONNRESET",
  "529 overloaded_error",
  "402 Your credit balance is too low",
  "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1234.",
  "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
  "max_tokens is too large: 50000. This model supports at most 16384 completion tokens, whereas you provided 50000.",
  "Range of max_tokens should be [1, 8192]",
  "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
  "The maximum tokens you requested exceeds the model limit of 4096.",
  "You exceeded your current quota, please check your plan and billing details.",
  "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
  "Your daily token limit was exceeded",
  "500 Internal Server Error",
  "请求过于频繁，请稍后再试",
  "You have used 99,000 of 100,000 tokens this month. Please upgrade your plan.",
  "Invalid value for max_output_tokens: 200000 exceeds the maximum of 64000",
  "messages: too many images (25). Maximum is 20 images per request.",
  "Insufficient credits: this request needs 71234 tokens, you have 65536 tokens left in your balance",
  "Monthly token quota of 1000000 tokens exceeded, used 1000512 tokens",
  "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
  "thinking.budget_tokens: Input should be greater than or equal to 1024",
  "Number of request tokens has exceeded your per-minute rate limit",
  "Your input was flagged: content exceeds the allowed toxicity threshold",
  'messages.5: tool_call_id "call_1234567" is too long',
  "431 Request Header Fields Too Large",
  "JSON schema too large: 71234 characters",
  "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
  "API Error: Claude's response exceeded the 32000 output token maximum.",
  "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
  "Concurrency limit exceeded: maximum of 5 concurrent requests",
  "Request timed out: waited 120000 ms",
  "A maximum of 100 PDF pages may be provided.",
  "max_tokens 参数超过最大值 8192",
  "too many tokens: max tokens must be less than or equal to 4096, the maximum output length for this model - received 1000000.",
  "Model context window too small (minimum is 128k tokens)",
  "503 the queue is full: maximum queue size exceeded",
  "Rate limit: max tokens of 40000 exceeded per minute",
  "用户名不能超过20字符",
  "Invalid 'metadata.text': string too long. Expected a string with maximum length 512",
  "生成内容超过最大输出长度 8192",
  "",
];

test("the numbers that an error names are read by its words", () => {
  for (const [name, words] of Object.entries(WORDS)) {
    const { prompt, limit, excess } = readRefusal(words(71_234, 65_536));
    assert.ok(limit === 65_536 || excess === 5_698, `${name}: ${limit}, ${excess}`);
    assert.ok(prompt === undefined || prompt === 71_234, `${name}: ${prompt}`);
  }
  for (const [name, words] of Object.entries(WITH_OUTPUT)) {
    assert.deepEqual(
      { ...readRefusal(words(60_000, 8_000, 65_536)) },
      { prompt: 60_000, output: 8_000, limit: 65_536 },
      name,
    );
  }
  for (const words of LIMIT_ONLY) {
    const { prompt, limit } = readRefusal(words(65_536));
    assert.deepEqual({ prompt, limit }, { prompt: undefined, limit: 65_536 }, words(0));
  }
  for (const words of HELD_BACK)
    assert.deepEqual(
      { ...readRefusal(words(71_234, 65_536)) },
      { prompt: 71_234, limit: 65_536 },
      words(0, 0),
    );
  for (const words of NUMBERLESS)
    assert.deepEqual(Object.values(readRefusal(words) ?? { none: 0 }), [], words);
  for (const words of OTHERS) assert.equal(readRefusal(words), undefined, words);
});

test("a text of any size and numbers out of range are read in bounded time, and make no sense of nonsense", () => {
  const start = performance.now();
  for (const part of ["x", "prompt ", "# > ", "9", "maximum context length 9999 requested 1 ", "exceeds "])
    readRefusal(part.repeat(1_000_000 / part.length));
  assert.ok(performance.now() - start < 2000);
  assert.deepEqual(readRefusal(`prompt is too long: ${"9".repeat(30)} tokens > 0 maximum`), {});
  assert.equal(
    readRefusal(`prompt is too long: 71234 tokens > 65536 maximum${" ".repeat(1_000_000)}`).limit,
    65_536,
  );
  assert.equal(readRefusal(undefined), undefined);
});

/** A conversation of so many calls, in which the user speaks too, before a provider that refuses in `words` what is over its limit. */
async function played({ words, limit, output = 0, calls, catalogue = 1_000_000 }) {
  const settings = { contextWindow: limit - output, basePrompt: 1500, scale: 1.2 };
  const more = { words: (tokens) => words(tokens, limit) };
  const { call, loop, scribe } = talk(settings, { contextWindow: catalogue }, more);
  const records = [];
  for (let number = 0; number < calls; number += 1) {
    const record = await call(limit / 40);
    const users = record.given.filter(({ role }) => role === "user");
    records.push({ ...record, hasUsers: users.every((message) => record.sent.includes(message)) });
    if (!record.isRefused && number % 6 === 5) loop.messages.push(scribe.user(12));
  }
  const refusals = records.flatMap(({ isRefused }, at) => (isRefused ? [at] : []));
  const learned = records.flatMap(({ events }) =>
    events.filter(({ type }) => type === "contextWindowLearned"),
  );
  assert.ok(records.every(({ hasUsers }) => hasUsers));
  return { records, refusals, learned, messages: loop.messages };
}

describe("the limit that a refusal names", () => {
  for (const [name, words] of Object.entries(WORDS)) {
    for (const limit of [8192, 32_768, 65_536, 200_000]) {
      test(`${name}, ${limit}: taken at the second try, nearly all of it used, and held`, async () => {
        const { records, refusals, learned } = await played({ words, limit, calls: 60 });
        assert.equal(refusals.length, 1, `refused at ${refusals}`);
        const { prompt } = records[refusals[0] + 1];
        assert.ok(prompt >= 0.85 * limit, `${prompt} of ${limit}`);
        assert.equal(learned.length, 1);
        assert.ok(Math.abs(learned[0].contextWindow / limit - 1) < 0.03);
        assert.deepEqual([learned[0].provider, learned[0].model], ["p", "model-a"]);
      });
    }
  }

  for (const [name, words] of Object.entries(WITH_OUTPUT)) {
    test(`${name}: the answer's share of it is kept free`, async () => {
      const output = 16_000;
      const said = (prompt, limit) => words(prompt, output, limit);
      const { records, refusals } = await played({ words: said, limit: 65_536, output, calls: 60 });
      assert.equal(refusals.length, 1);
      assert.ok(records[refusals[0] + 1].prompt >= 0.85 * (65_536 - output));
    });
  }

  test("holds in the hook's other conversations, and for this model alone", async () => {
    const hook = createTransformContext({ contextWindow: 200_000 });
    const long = "a line of a long result that nobody asked for again\n".repeat(200);
    const list = (model, mark) => [
      user(`go ${mark}`),
      ...Array.from({ length: 60 }, (_, i) => [
        answer(`:${mark}${i}`, { model }),
        result(`${mark}${i}`, `${mark} ${i}\n${long}`),
      ]).flat(),
    ];
    const first = list("m", "a");
    await hook(first);
    const refusal = refused(WORDS.xAI(130_000, 40_000), { model: "m" });
    assert.ok(countTokens(await hook([...first, refusal])) < 40_000);
    assert.ok(countTokens(await hook(list("m", "b"))) < 40_000, "the same model");
    const other = list("other", "c");
    const alone = await createTransformContext({ contextWindow: 200_000 })(other);
    assert.deepEqual(await hook(other), alone, "another model");
  });
});

test("a refusal is obeyed where the provider's counts are not learned", async () => {
  const page = "a line of a long result that nobody asked for again\n".repeat(200);
  const list = [user()];
  for (let i = 0; i < 60; i += 1) list.push(answer(`:c${i}`), result(`c${i}`, `${i}\n${page}`));
  for (const [schedule, limit] of [
    ["sticky", 40_000],
    ["everyCall", 40_000],
    ["sticky", 130_000],
  ]) {
    const hook = createTransformContext({ contextWindow: 200_000, calibrate: false, schedule });
    const before = countTokens(await hook(list));
    const refusal = refused(WORDS.xAI(Math.max(before, limit + 10), limit), { timestamp: 1 });
    const after = countTokens(await hook([...list, refusal]));
    assert.ok(after < Math.min(limit, 0.85 * before), `${after} after ${before}`);
  }
});

test("after a refusal a reserve that the host set is kept free of the learned window", async () => {
  const page = "a line of a long result that nobody asked for again\n".repeat(200);
  const list = [user()];
  for (let i = 0; i < 60; i += 1) list.push(answer(`:c${i}`), result(`c${i}`, `${i}\n${page}`));
  for (const schedule of ["sticky", "everyCall"]) {
    const options = { contextWindow: 200_000, reserveTokens: 20_000, keepRecentToolResults: 60 };
    const hook = createTransformContext({ ...options, calibrate: false, schedule });
    const before = countTokens(await hook(list));
    const refusal = refused(WORDS.xAI(before, 60_000), { timestamp: 1 });
    const after = countTokens(await hook([...list, refusal]));
    assert.ok(after <= 40_000, `${after} under ${schedule}`);
  }
});

test("a refusal without a number makes the next request a fifth smaller, and what is accepted then bounds the belief", async () => {
  for (const text of NUMBERLESS) {
    const setting = { words: () => text, limit: 40_000, calls: 60, catalogue: 200_000 };
    const { records, refusals } = await played(setting);
    assert.equal(refusals.length, 1, text);
    const [before, after] = records.slice(refusals[0]);
    const share = after.prompt / before.prompt;
    assert.ok(share > 0.74 && share < 0.82, `${after.prompt} after ${before.prompt}`);
  }
});

test("after an error about anything else the next request is the same", async () => {
  const { messages } = await played({ words: WORDS.OpenAI, limit: 500_000, calls: 30 });
  for (const errorMessage of OTHERS) {
    const hook = createTransformContext({ contextWindow: 100_000 });
    const sent = await hook(messages.slice());
    const failed = refused(errorMessage);
    const again = await hook([...messages, failed]);
    assert.deepEqual(
      again.filter((message) => message !== failed),
      sent,
      errorMessage,
    );
  }
});
