// A request that is over the window whatever is done: the smallest valid transcript goes out, and contextOverflow says
// how small that is, under both ways of dealing with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createTransformContext, validate } from "../index.js";
import { answer, bash, call, custom, image, result, text, thinking, user } from "./support/messages.mjs";
import { conversation, isPis } from "./support/transcripts.mjs";

const OPTIONS = { contextWindow: 600, reserveTokens: 100, calibrate: false, keepRecentMessages: 8 };

/** What goes out, and what is said about its size. */
async function transformed(messages, options) {
  const events = [];
  const onEvent = (event) => events.push(event);
  const sent = await createTransformContext({ ...OPTIONS, ...options, onEvent })(messages);
  const of = (type) => events.filter((event) => event.type === type);
  return { sent, overflows: of("contextOverflow"), shrunk: of("shrunk") };
}

/** What a cut leaves is counted by its pieces, to within a few tokens for each text. */
function assertAbout(told, counted, what) {
  assert.ok(told >= counted && told <= 1.03 * counted + 30, `${what}: ${told} told, ${counted} sent`);
}

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: the floor is what the shrunk request has, and what a kept one would have`, async (t) => {
    let overflowing = 0;
    for (let seed = 0; seed < 300; seed += 1) {
      const messages = conversation(seed, { length: 4 + (seed % 40) });
      const shrunk = await transformed(messages, { schedule });
      const kept = await transformed(messages, { schedule, overflow: "keep" });
      assert.deepEqual(validate(shrunk.sent), []);
      assert.deepEqual(kept.shrunk, []);
      const [size, keptSize] = [shrunk, kept].map(({ sent }) => countTokens(sent.filter(isPis)));
      const isOver = (tokens) => tokens > OPTIONS.contextWindow - OPTIONS.reserveTokens;
      overflowing += Number(isOver(size));
      assert.equal(shrunk.overflows.length > 0, isOver(shrunk.overflows[0]?.tokens ?? size));
      for (const { tokens, floorTokens } of shrunk.overflows) {
        assert.equal(floorTokens, tokens);
        assertAbout(tokens, size, `seed ${seed}`);
      }
      assert.equal(kept.overflows.length > 0, isOver(keptSize));
      for (const { tokens, floorTokens } of kept.overflows) {
        assert.ok(Math.abs(tokens - keptSize) <= 6, `${tokens} told, ${keptSize} sent`);
        // Under sticky what was cut at an earlier call stays cut that way; a kept request has no such past.
        if (schedule === "everyCall") assertAbout(floorTokens, size, `seed ${seed}`);
        assert.ok(floorTokens <= keptSize);
      }
    }
    assert.ok(overflowing >= 30, `${overflowing} of 300 cannot fit`);
    t.diagnostic(`${overflowing} of 300 transcripts cannot fit under ${schedule}`);
  });
}

test("all that may go is gone: parallel results, each summarised, are cut too", async () => {
  const line = "a line of output that is long enough to be kept as it is\n";
  const ids = ["a0", "a1", "a2", "a3", "a4", "a5"];
  const long = line.repeat(40).replaceAll("long", "long ".repeat(30));
  const messages = [user(), answer(`:${ids.join(" ")}`), ...ids.map((id) => result(id, long))];
  const { sent, overflows } = await transformed(messages, { contextWindow: 300, schedule: "everyCall" });
  assert.equal(sent.length, messages.length);
  for (const { content } of sent.slice(2)) assert.ok(countTokens(content[0].text) <= 64, content[0].text);
  const [{ floorTokens }] = overflows;
  assertAbout(floorTokens, countTokens(sent));
  assert.ok(floorTokens <= countTokens(messages.slice(0, 2)) + 6 * 64);
});

test("parallel results share the room, and the short one stays", async () => {
  const line = "a line of output that is long enough\n";
  const results = [20, 2000, 4000].map((count, i) => result(`a${i}`, line.repeat(count)));
  const messages = [user(), answer(":a0 a1 a2"), ...results];
  const { sent } = await transformed(messages, { contextWindow: 8100, schedule: "everyCall" });
  assert.equal(sent[2], results[0]);
  const [total, one, other] = [sent, sent[3], sent[4]].map((of) => countTokens(of));
  assert.ok(total <= 8000 && total > 7500 && Math.abs(one - other) < 100, `${total}: ${one} and ${other}`);
});

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: results that no answer followed stay whole behind a reminder`, async () => {
    const page = "word ".repeat(500);
    const usage = { input: 900, cacheRead: 0, cacheWrite: 0, output: 1 };
    const messages = [user()];
    for (let i = 0; i < 12; i += 1) messages.push(answer(`:a${i}`, { usage }), result(`a${i}`, page));
    const newest = ["b0", "b1"].map((id) => result(id, "word ".repeat(900)));
    messages.push(answer(":b0 b1", { usage }), ...newest, custom, user("a reminder"));
    const options = { contextWindow: 3000, schedule, keepRecentMessages: 1, keepRecentToolResults: 2 };
    const { sent } = await transformed(messages, options);
    assert.ok(sent.length < messages.length);
    assert.deepEqual(sent.slice(-4, -2), newest);
    // What cannot be cut goes, unless it is the newest.
    const shell = Array.from({ length: 9 }, () => ({ ...bash, output: "word ".repeat(400) }));
    const behind = await transformed([...messages, ...shell, user("so?")], options);
    assert.deepEqual(behind.overflows, []);
    assert.ok(behind.sent.some(({ toolCallId }) => toolCallId === "b1"));
  });
}

/**
 * Plays `calls` calls, each with a result of about `step` tokens, against a provider that counts `scale` tokens for one of cl100k
 * and `base` beside the messages, and reports them unless it `isSilent`. Returns the prompts and what was sent.
 */
async function play(options, { calls = 120, step = 2000, scale = 1.2, base = () => 4000, ...more }) {
  const { first = "go", isSilent = false } = more;
  const hook = createTransformContext(options);
  const list = [user(first)];
  const played = [];
  for (let i = 0; i < calls; i += 1) {
    const sent = await hook(list);
    const tokens = Math.round(base(i) + scale * countTokens(sent));
    played.push({ tokens, sent: sent.slice() });
    const usage = isSilent ? undefined : { input: 10, cacheRead: tokens - 10, cacheWrite: 0, output: 1 };
    const timestamp = 1000 * (i + 1);
    list.push(answer(`:p${i}`, { usage, timestamp }));
    list.push(result(`p${i}`, `page ${i} `.repeat(step / 3.6), { timestamp }));
  }
  return played;
}
const largest = (played) => Math.max(...played.map(({ tokens }) => tokens));
/** The number of requests that do not begin with all of the one before. */
const rewritten = (played) =>
  played.slice(1).filter(({ sent }, i) => !played[i].sent.every((message, at) => message === sent[at]))
    .length;

test("where no usage is reported, a batch at a limit makes room for several calls", async () => {
  const count = rewritten(await play({ contextWindow: 8000 }, { calls: 100, step: 360, isSilent: true }));
  assert.ok(count > 5 && count < 30, `${count} of 100 requests`);
});

test("a limit below prompt and tools frees what it can, and then waits for growth", async () => {
  const limits = { contextWindow: 32_000, maxPromptTokens: 4000 };
  const played = await play(limits, { calls: 100, step: 540, scale: 1, base: () => 6000 });
  assert.ok(rewritten(played) < 50, `${rewritten(played)} of 100 requests`);
  const mean = played.reduce((sum, { tokens }) => sum + tokens, 0) / 100;
  assert.ok(mean < 9000, `${mean} tokens`);
});

for (const [contextWindow, limit] of [
  [100_000, { maxPromptTokens: 80_000 }],
  [200_000, { maxPromptTokens: 160_000 }],
  [100_000, { contextRatio: 0.8 }],
  [1_000_000, { maxPromptTokens: 100_000, economy: "faithful" }],
]) {
  test(`a host's limit is obeyed: ${JSON.stringify(limit)} of ${contextWindow}`, async () => {
    const most = limit.maxPromptTokens ?? limit.contextRatio * contextWindow;
    const tokens = largest(await play({ contextWindow, ...limit }, { step: most / 25 }));
    assert.ok(tokens <= most && tokens > 0.9 * most, `${tokens} of ${most}`);
  });
}

test("a host's limit that one paste passes still bounds requests", async () => {
  const options = { contextWindow: 1_000_000, maxPromptTokens: 40_000 };
  const tokens = largest(await play(options, { first: "pasted line ".repeat(20_000) }));
  assert.ok(tokens < 110_000, `${tokens} tokens, 76 000 of them pasted`);
});

test("what a batch left is counted by today's estimate", async () => {
  // The host takes 40 000 tokens of tools away as it goes to a smaller model.
  let contextWindow = 200_000;
  const base = (i) => {
    if (i === 20) contextWindow = 32_000;
    return i < 20 ? 40_000 : 2000;
  };
  const played = await play({ contextWindow: () => contextWindow }, { base, step: 500 });
  const tokens = largest(played.slice(21));
  assert.ok(tokens < 32_000, `${tokens} tokens`);
});

test("below every limit the newest results, thinking and images stay with their calls", async () => {
  const [newestResults, newestThinking] = [30, 25];
  const options = {
    contextWindow: 1_000_000,
    economy: "thrifty",
    keepRecentToolResults: newestResults,
    keepRecentThinking: newestThinking,
    keepRecentMessages: 4,
  };
  const hook = createTransformContext(options);
  const list = [user()];
  let dropped = 0;
  for (let i = 0; i < 120; i += 1) {
    const sent = await hook(list);
    dropped = Math.max(dropped, list.length - sent.length);
    const newest = (messages, shows, count) =>
      messages.filter(({ content }) => Array.isArray(content) && content.some(shows)).slice(-count);
    const results = list.filter(({ role }) => role === "toolResult").slice(-newestResults);
    const thinkers = newest(list, isThinking, newestThinking);
    for (const message of [...results, ...thinkers]) assert.ok(sent.includes(message), `call ${i}`);
    assert.equal(newest(sent, isImage, 8).length, newest(list, isImage, 8).length, `call ${i}`);
    const usage = { input: 10, cacheRead: 4000 + countTokens(sent), cacheWrite: 0, output: 1 };
    list.push(answer([thinking(), call(`p${i}`)], { usage }));
    const shows = i % 4 === 0 ? [image] : [];
    list.push(result(`p${i}`, [text(`page ${i} `.repeat(300)), ...shows]));
  }
  assert.ok(dropped > 20, `${dropped} messages dropped`);
});
const isThinking = ({ type }) => type === "thinking";
const isImage = ({ type }) => type === "image";

test("what a shell or an app wrote since the last answer is cut, not dropped", async () => {
  const output = Array.from({ length: 5000 }, (_, i) => `row number ${i}`).join("\n");
  for (const input of [
    { ...bash, output },
    { ...custom, content: output },
    { role: "branchSummary", summary: output, fromId: "q", timestamp: 1 },
  ]) {
    const messages = [user(), answer("done"), input, user("what did that print?")];
    const hook = createTransformContext({ contextWindow: 16_000, calibrate: false });
    const before = structuredClone(messages);
    const sent = await hook(messages);
    const written = JSON.stringify(sent);
    assert.ok(written.includes("row number 0\\n") && written.includes("row number 4999"), input.role);
    assert.ok(countTokens(sent) > 9000 && countTokens(sent) < 12_000, `${countTokens(sent)} tokens`);
    assert.deepEqual(messages, before);
  }
});

test("many messages behind the last answer: the newest stay whole, the oldest go", async () => {
  const messages = [
    user(),
    answer("done", { usage: { input: 900, output: 1, cacheRead: 0, cacheWrite: 0 } }),
  ];
  for (let i = 0; i < 400; i += 1) messages.push(user(`note ${i} `.repeat(50)));
  for (const schedule of ["everyCall", "sticky"]) {
    const sent = await createTransformContext({ contextWindow: 32_000, schedule })(messages);
    assert.deepEqual(sent.slice(-20), messages.slice(-20), schedule);
  }
});

test("with one more token of room than the floor it fits, and nothing overflows", async () => {
  for (let seed = 0; seed < 100; seed += 1) {
    const messages = conversation(seed, { length: 30 });
    const tight = { contextWindow: [1, 1e-300, 1.5][seed % 3], reserveTokens: 0, schedule: "everyCall" };
    const least = await transformed(messages, tight);
    const [{ floorTokens, contextWindow }] = least.overflows;
    assert.equal(contextWindow, tight.contextWindow);
    const room = { contextWindow: floorTokens + 1, reserveTokens: 0, schedule: "everyCall" };
    const { sent, overflows } = await transformed(messages, room);
    assert.deepEqual(overflows, []);
    assert.ok(countTokens(sent.filter(isPis)) <= floorTokens + 1);
  }
});

test("one large message does not cost what the user said for good", async () => {
  const lines = (count, of) =>
    Array.from({ length: count }, (_, i) => `step ${of} ${i} does ${(i * 7919) % 997}`);
  for (const large of [0, 500, 700, 900, 1200, 3000]) {
    const hook = createTransformContext({ contextWindow: 8192 });
    const list = [user(`Build it so:\n${lines(180, 1).join("\n")}`)];
    for (let i = 0; i < 20; i += 1) {
      const sent = await hook(list);
      const tokens = 1000 + countTokens(sent);
      // A batch that stayed above the budget waits for growth.
      if (i < 6 || i > 9 || tokens < 6000) assert.equal(sent[0], list[0]);
      const content = lines(i === 5 ? large : 0, 2).join("\n");
      const calls = [call(`c${i}`, { arguments: { path: `f${i}`, content } })];
      list.push(answer(calls, { usage: { input: tokens, cacheRead: 0, cacheWrite: 0, output: 1 } }));
      list.push(result(`c${i}`, lines(30, i).join("\n")));
    }
  }
});

for (const api of ["bedrock-converse-stream", "mistral-conversations"]) {
  const roles = (list) => list.map(({ role }) => role);
  const usage = (sent) => ({ input: 10, cacheRead: 2000 + countTokens(sent), cacheWrite: 0, output: 1 });

  test(`${api}: the answers of a long chat make room, and what people say stays`, async () => {
    const hook = createTransformContext({ contextWindow: 200_000, maxPromptTokens: 30_000 });
    const list = [];
    for (let i = 0; i < 150; i += 1) {
      list.push(user(`question ${i}`));
      const sent = await hook(list);
      assert.deepEqual(roles(sent), roles(list));
      assert.ok(sent.every((message, at) => message === list[at] || message.role === "assistant"));
      assert.ok(2000 + countTokens(sent) <= 30_000);
      const said = `answer ${i}: ${"it is so, ".repeat(150)}`;
      const content = [thinking("so ".repeat(50)), text(said)];
      list.push({ ...answer(content, { api, usage: usage(sent) }), ...(i % 3 === 0 && { content: said }) });
    }
  });

  test(`${api}: after a switch a question behind a shell command has the answer before it back`, async () => {
    const hook = createTransformContext({ contextWindow: 32_000, economy: "thrifty" });
    const list = [];
    for (let i = 0; i < 40; i += 1) {
      list.push(...(i % 2 === 0 ? [bash] : []), user(`task ${i}`));
      const from = i < 34 ? {} : { api };
      for (const step of [`:c${i}`, "done ".repeat(100)]) {
        const sent = await hook(list);
        const meets = ({ role }, at) => role === "user" && sent[at - 1]?.role === "toolResult";
        // The request before the provider's first answer is made without knowing it.
        if (i > 34) assert.ok(!sent.some(meets), `task ${i}`);
        list.push(answer(step, { ...from, usage: usage(sent) }));
        if (step.startsWith(":")) list.push(result(`c${i}`, "a line of output\n".repeat(150)));
      }
    }
  });
}

/** A chat in which each answer reports what was sent, beside 300 tokens of prompt and tools. */
class Chat {
  list = [];
  #transform;

  constructor(options) {
    this.contextWindow = options.contextWindow;
    this.#transform = createTransformContext({ ...options, contextWindow: () => this.contextWindow });
  }

  /** Sends the list with these messages at its end, and adds the answer, a text or blocks. Returns what was sent, which fits. */
  async ask(messages, answered) {
    this.list.push(...messages);
    const sent = [...(await this.#transform(this.list))];
    const input = 300 + countTokens(sent) + 4 * sent.length;
    assert.ok(input < this.contextWindow, `${input} of ${this.contextWindow}`);
    const content = typeof answered === "string" ? [text(answered)] : answered;
    this.list.push(answer(content, { usage: { input, cacheRead: 0, cacheWrite: 0 } }));
    return sent;
  }
}

const words = (count, about = "why it matters here") => `${about} `.repeat(count);

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: a small question is sent whole behind the answer before it and all since, whatever goes of older ones`, async () => {
    const chat = new Chat({ contextWindow: 8192, schedule });
    for (let turn = 0; turn < 40; turn += 1) {
      const output = { ...bash, command: `${turn}`, output: words(20, "a line of output") };
      const newest = [...chat.list.slice(-1), output, user(`${turn} ${words(60 + ((turn * 97) % 340))}`)];
      const sent = await chat.ask(newest.slice(-2), `${turn} ${words(20 + ((turn * 53) % 150))}`);
      assert.deepEqual(sent.slice(-newest.length), newest, `question ${turn}`);
    }
  });

  test(`${schedule}: new photos leave no room for old ones in a small window`, async () => {
    const chat = new Chat({ contextWindow: 8192, schedule });
    const photos = [image, image, image, image];
    await chat.ask([user([text("look"), ...photos])], "seen");
    for (let turn = 0; turn < 20; turn += 1) await chat.ask([user(words(60))], words(60));
    const sent = await chat.ask([user([text("and at these"), ...photos])], "seen");
    assert.equal(sent.at(-1), chat.list.at(-2));
  });
}

test("a new result that fits the budget is sent whole, or nearly, beside much user text", async () => {
  const chat = new Chat({ contextWindow: 16_384 });
  const lines = (count, of) => Array.from({ length: count }, (_, i) => `value ${(i * 7919) % 997} of ${of}`);
  for (let turn = 0; turn < 10; turn += 1) {
    await chat.ask([user(words(300))], [call(`r${turn}`)]);
    const read = result(`r${turn}`, lines(400, turn).join("\n"));
    const sent = await chat.ask([read], "It is 7.");
    const [shown, whole] = [sent.at(-1), read].map((message) => countTokens(message));
    assert.ok(shown > 0.6 * whole, `turn ${turn}: ${shown} of ${whole} tokens`);
  }
});

test("user text that a small window cut is whole again in a larger one", async () => {
  const chat = new Chat({ contextWindow: 8192 });
  const paste = user(words(2500));
  const cut = await chat.ask([paste], "too long");
  assert.ok(countTokens(cut[0]) < 8192);
  chat.contextWindow = 128_000;
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await chat.ask([user("again")], "I see"))[0], paste);
});

test("after going back in a chat the model sees its answers there", async () => {
  const chat = new Chat({ contextWindow: 128_000 });
  for (let turn = 0; turn < 120; turn += 1)
    await chat.ask([user(`${turn} ${words(60)}`)], `${turn} ${words(180, "an answer")}`);
  const early = chat.list.slice(0, 40);
  const sent = await chat.ask([user("once more")], "done");
  assert.ok(
    early.some((message) => !sent.includes(message)),
    "a batch has come",
  );
  chat.list = [...early];
  const back = await chat.ask([user("another way")], "done");
  assert.deepEqual(back.slice(0, 40), early);
});
