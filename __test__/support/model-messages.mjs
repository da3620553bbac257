// Generated `ModelMessage[]` of the AI SDK: valid conversations with everything that its majors know.

import { dice } from "./transcripts.mjs";

/** Throws of dice by a seed: below a count, one in so many, one of a list. */
export function randomOf(seed) {
  const below = dice(seed);
  return { below, oneIn: (count) => below(count) === 0, of: (list) => list[below(list.length)] };
}

const WORDS = "alpha|src/main.rs|error:|用户|the|result|😀|0x1f|line\n|handler_function".split("|");

const textOf = (random, most) =>
  Array.from({ length: 1 + random.below(most) }, () => random.of(WORDS)).join(" ");
const cached = { anthropic: { cacheControl: { type: "ephemeral" } } };
const maybe = (random, fields) => (random.oneIn(6) ? fields : {});
const DATA = "aGVsbG8=";

/** A conversation of at most `most` turns. `major` of the SDK decides which parts there are. */
export function modelMessages(seed, major, most = 6) {
  const random = randomOf(seed);
  const messages = random.oneIn(2)
    ? [{ role: "system", content: textOf(random, 20), ...maybe(random, { providerOptions: cached }) }]
    : [];
  let ids = 0;
  const turns = 1 + random.below(most);
  for (let turn = 0; turn < turns; turn += 1) {
    messages.push(userMessage(random, major));
    for (let step = random.below(6); step > 0; step -= 1) {
      const calls = Array.from({ length: 1 + random.below(3) }, () => call(random, `call_${ids++}`));
      messages.push(...stepMessages(random, major, calls));
    }
    if (turn < turns - 1 || random.oneIn(2)) messages.push(answer(random));
  }
  return messages;
}

function userMessage(random, major) {
  if (random.oneIn(2))
    return { role: "user", content: textOf(random, 30), ...maybe(random, { providerOptions: cached }) };
  const content = [{ type: "text", text: textOf(random, 30), ...maybe(random, { providerOptions: cached }) }];
  if (random.oneIn(3)) content.push({ type: "image", image: DATA, mediaType: "image/png" });
  if (random.oneIn(4))
    content.push({
      type: "file",
      data: DATA,
      mediaType: random.of(["application/pdf", "image/jpeg"]),
      filename: "a",
    });
  if (major > 5 && random.oneIn(9))
    content.push({ type: "image", image: new Uint8Array([1, 2, 3]), mediaType: "image/png" });
  return { role: "user", content };
}

function call(random, toolCallId) {
  return {
    type: "tool-call",
    toolCallId,
    toolName: random.of(["read", "bash"]),
    input: { path: textOf(random, 3) },
  };
}

function answer(random) {
  if (random.oneIn(2)) return { role: "assistant", content: textOf(random, 40) };
  const reasoning = random.oneIn(2) ? [reasoningPart(random)] : [];
  return { role: "assistant", content: [...reasoning, { type: "text", text: textOf(random, 40) }] };
}

function reasoningPart(random) {
  return {
    type: "reasoning",
    text: textOf(random, 40),
    ...maybe(random, { providerOptions: { anthropic: { signature: "c2ln" } } }),
  };
}

/** An assistant message with calls, and the tool messages that answer it. */
function stepMessages(random, major, calls) {
  const content = [];
  if (random.oneIn(2)) content.push(reasoningPart(random));
  if (random.oneIn(3)) content.push({ type: "text", text: textOf(random, 10) });
  content.push(...calls);
  const isSearched = random.oneIn(6);
  if (isSearched) {
    const toolCallId = `server_${calls[0].toolCallId}`;
    const output = { type: "json", value: [{ url: "https://example.com", title: textOf(random, 9) }] };
    content.push({
      type: "tool-call",
      toolCallId,
      toolName: "web_search",
      input: {},
      providerExecuted: true,
    });
    content.push({ type: "tool-result", toolCallId, toolName: "web_search", output });
  }
  const needsApproval = major > 5 && random.oneIn(4);
  const approvals = needsApproval
    ? calls
        .filter(() => random.oneIn(2))
        .map(({ toolCallId }) => ({ approvalId: `ok_${toolCallId}`, toolCallId }))
    : [];
  content.push(...approvals.map((approval) => ({ type: "tool-approval-request", ...approval })));
  const responses = approvals.map(({ approvalId }) => ({
    type: "tool-approval-response",
    approvalId,
    approved: true,
  }));
  const results = calls.map(({ toolCallId, toolName }) => ({
    type: "tool-result",
    toolCallId,
    toolName,
    output: output(random, major),
    ...maybe(random, { providerOptions: cached }),
  }));
  const assistant = { role: "assistant", content, ...maybe(random, { providerOptions: cached }) };
  const together = random.oneIn(2) || results.length === 1;
  if (responses.length > 0 && random.oneIn(2))
    return [assistant, { role: "tool", content: [...responses, ...results] }];
  const tools = together
    ? [{ role: "tool", content: results }]
    : results.map((result) => ({ role: "tool", content: [result] }));
  return [assistant, ...(responses.length > 0 ? [{ role: "tool", content: responses }] : []), ...tools];
}

function output(random, major) {
  const value = textOf(random, random.of([4, 40, 300]));
  const kinds = [
    () => ({ type: "text", value }),
    () => ({ type: "json", value: { found: [value], more: null } }),
    () => ({ type: "error-text", value }),
    () => ({ type: "error-json", value: { message: value } }),
    () => ({
      type: "content",
      value: [
        { type: "text", text: value },
        { type: "media", data: DATA, mediaType: "image/png" },
      ],
    }),
  ];
  if (major > 5) kinds.push(() => ({ type: "execution-denied", reason: value }));
  return random.of(kinds)();
}
