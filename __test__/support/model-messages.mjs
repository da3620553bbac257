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
  const text = textOf(random, 30);
  const options = maybe(random, { providerOptions: cached });
  if (random.oneIn(2)) return { role: "user", content: text, ...options };
  const content = [{ type: "text", text, ...options }];
  const image = { type: "image", image: DATA, mediaType: "image/png" };
  if (random.oneIn(3)) content.push(image);
  const mediaType = random.of(["application/pdf", "image/jpeg"]);
  if (random.oneIn(4)) content.push({ type: "file", data: DATA, mediaType, filename: "a" });
  if (major > 5 && random.oneIn(9)) content.push({ ...image, image: new Uint8Array([1, 2, 3]) });
  return { role: "user", content };
}

function call(random, toolCallId) {
  const input = { path: textOf(random, 3) };
  return { type: "tool-call", toolCallId, toolName: random.of(["read", "bash"]), input };
}

function answer(random) {
  if (random.oneIn(2)) return { role: "assistant", content: textOf(random, 40) };
  return { role: "assistant", content: [...reasoning(random), { type: "text", text: textOf(random, 40) }] };
}

/** Reasoning, now and then signed, or none. */
function reasoning(random) {
  if (random.oneIn(2)) return [];
  const signed = { providerOptions: { anthropic: { signature: "c2ln" } } };
  return [{ type: "reasoning", text: textOf(random, 40), ...maybe(random, signed) }];
}

/** A call that the provider answers itself. */
function search(random, { toolCallId: id }) {
  const of = { toolCallId: `server_${id}`, toolName: "web_search" };
  const value = [{ url: "https://example.com", title: textOf(random, 9) }];
  return [
    { type: "tool-call", ...of, input: {}, providerExecuted: true },
    { type: "tool-result", ...of, output: { type: "json", value } },
  ];
}

/** An assistant message with calls, and the tool messages that answer it. */
function stepMessages(random, major, calls) {
  const content = reasoning(random);
  if (random.oneIn(3)) content.push({ type: "text", text: textOf(random, 10) });
  content.push(...calls);
  if (random.oneIn(6)) content.push(...search(random, calls[0]));
  const asked = major > 5 && random.oneIn(4) ? calls.filter(() => random.oneIn(2)) : [];
  const approvals = asked.map(({ toolCallId }) => ({ approvalId: `ok_${toolCallId}`, toolCallId }));
  content.push(...approvals.map((approval) => ({ type: "tool-approval-request", ...approval })));
  const responses = approvals.map(({ approvalId }) => ({
    type: "tool-approval-response",
    approvalId,
    approved: true,
  }));
  const results = calls.map(({ toolCallId, toolName }) => {
    const options = maybe(random, { providerOptions: cached });
    return { type: "tool-result", toolCallId, toolName, output: output(random, major), ...options };
  });
  const contents = random.oneIn(2) ? [results] : results.map((result) => [result]);
  if (responses.length > 0 && random.oneIn(2)) contents[0].unshift(...responses);
  else if (responses.length > 0) contents.unshift(responses);
  const assistant = { role: "assistant", content, ...maybe(random, { providerOptions: cached }) };
  return [assistant, ...contents.map((each) => ({ role: "tool", content: each }))];
}

function output(random, major) {
  const value = textOf(random, random.of([4, 40, 300]));
  const image = { type: "media", data: DATA, mediaType: "image/png" };
  const kinds = [
    { type: "text", value },
    { type: "json", value: { found: [value], more: null } },
    { type: "error-text", value },
    { type: "error-json", value: { message: value } },
    { type: "content", value: [{ type: "text", text: value }, image] },
    ...(major > 5 ? [{ type: "execution-denied", reason: value }] : []),
  ];
  return random.of(kinds);
}
