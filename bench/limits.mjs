// What limits cost: refusals, large results, small windows, photos and long pastes, each against a provider that counts,
// caches and refuses. `npm run bench:limits [SESSION.jsonl…]`; without a session the stretches are of the example alone.

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { REFUSALS } from "../__test__/support/refusals.mjs";
import { countTokens, createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";

const SOURCE = { api: "anthropic-messages", provider: "anthropic", model: "claude-opus-4-5" };
const START = Date.UTC(2026, 0, 1);
const ZERO = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
const percent = (part, whole) => `${Math.round((100 * part) / Math.max(1, whole))} %`;
const print = (...cells) =>
  console.log(
    cells.map((cell, i) => (i === 0 ? String(cell).padEnd(34) : String(cell).padStart(14))).join(""),
  );
const lines = (count, seed) =>
  Array.from(
    { length: count },
    (_, i) => `${i + 1}\tconst value_${(seed * 31 + i * 17) % 4099} = parse(input_${i}, ${seed});`,
  ).join("\n");

/** A prompt cache by prefix that lives five minutes, at Claude's prices. */
class Meter {
  dollars = 0;
  #last = { parts: [], at: Number.NEGATIVE_INFINITY };

  constructor(beside, scale) {
    Object.assign(this, { beside, scale });
  }

  size(messages) {
    return Math.round(this.beside + this.scale * countTokens(messages));
  }

  call(messages, at) {
    const parts = messages.map(({ role, content }) => JSON.stringify([role, content]));
    const isWarm = at - this.#last.at < 300_000;
    let same = 0;
    while (isWarm && same < parts.length && parts[same] === this.#last.parts[same]) same += 1;
    const cacheRead = isWarm ? this.size(messages.slice(0, same)) : 0;
    const cacheWrite = this.size(messages) - cacheRead;
    this.#last = { parts, at };
    this.dollars += ((cacheRead * 0.1 + cacheWrite * 1.25) * 5) / 1e6;
    return { ...ZERO, input: 3, output: 200, cacheRead, cacheWrite };
  }
}

function scribe() {
  let at = START;
  const stamped = (message, ms = 1000) => {
    at += ms;
    return { ...message, timestamp: at };
  };
  return {
    now: () => at,
    user: (content, ms) => stamped({ role: "user", content }, ms),
    says: (text, usage = ZERO) =>
      stamped({ role: "assistant", content: [{ type: "text", text }], ...SOURCE, usage, stopReason: "stop" }),
    asks: (ids, usage = ZERO) =>
      stamped({
        role: "assistant",
        content: ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: { path: `${id}.ts` } })),
        ...SOURCE,
        usage,
        stopReason: "toolUse",
      }),
    result: (id, text) =>
      stamped({
        role: "toolResult",
        toolCallId: id,
        toolName: "read",
        content: [{ type: "text", text }],
        isError: false,
      }),
    fails: (errorMessage) =>
      stamped({ role: "assistant", content: [], ...SOURCE, usage: ZERO, stopReason: "error", errorMessage }),
  };
}

async function refusals() {
  print("refusals", "sent", "next", "of the limit", "user text");
  for (const [name, words] of Object.entries(REFUSALS)) {
    const limit = 64_000;
    const by = scribe();
    const meter = new Meter(5000, 1.2);
    const hook = createTransformContext({ contextWindow: 1_000_000 });
    const messages = [by.user("Port the parser; keep the names.")];
    let refused = 0;
    for (let i = 0; refused === 0; i += 1) {
      const sent = await hook(messages.slice());
      if (meter.size(sent) > limit) {
        refused = meter.size(sent);
        break;
      }
      messages.push(
        by.asks([`c${i}`], { ...ZERO, input: meter.size(sent) }),
        by.result(`c${i}`, lines(100, i)),
      );
      if (i % 5 === 4) messages.push(by.user(`Now part ${i}; remember rule ${i}.`));
    }
    messages.push(by.fails(words(refused, limit)));
    const next = await hook(messages);
    const users = messages.filter(({ role }) => role === "user");
    print(
      name,
      refused,
      meter.size(next),
      percent(meter.size(next), limit),
      percent(users.filter((user) => next.includes(user)).length, users.length),
    );
  }
}

async function largeResults() {
  print("\nlarge results: of the room used", "× 0.5", "× 0.75", "× 1", "× 1.5");
  for (const contextWindow of [8192, 32_768, 65_536, 200_000]) {
    for (const parallel of [1, 4]) {
      const cells = [];
      for (const times of [0.5, 0.75, 1, 1.5]) cells.push(await largeResult(contextWindow, parallel, times));
      print(`${contextWindow}, ${parallel} at once`, ...cells);
    }
  }
}

/** The share of the room that a request uses whose newest results have so many times the window, `!` where user text is lost. */
async function largeResult(contextWindow, parallel, times) {
  const by = scribe();
  const meter = new Meter(contextWindow / 16, 1.27);
  const hook = createTransformContext({ contextWindow });
  const messages = [];
  for (let i = 0; i < 6; i += 1) {
    messages.push(by.user(`Question ${i}: do step ${i}; remember rule ${i}.`));
    messages.push(
      by.asks([`s${i}`], { ...ZERO, input: meter.size(await hook(messages.slice())) }),
      by.result(`s${i}`, lines(10, i)),
    );
    messages.push(by.says(`Step ${i} done.`, { ...ZERO, input: meter.size(await hook(messages.slice())) }));
  }
  messages.push(by.user("Read it all."));
  const ids = Array.from({ length: parallel }, (_, i) => `big${i}`);
  messages.push(by.asks(ids, { ...ZERO, input: meter.size(await hook(messages.slice())) }));
  const perLine = (1.27 * countTokens(lines(100, 7))) / 100;
  for (const id of ids)
    messages.push(by.result(id, lines(Math.ceil((times * contextWindow) / perLine / parallel), id.length)));
  const sent = await hook(messages.slice());
  const room = contextWindow - Math.min(8192, contextWindow / 4);
  const users = messages.filter(({ role }) => role === "user").every((user) => sent.includes(user));
  const isCut = meter.size(sent) < meter.size(messages);
  return `${isCut ? percent(meter.size(sent), room) : "whole"}${users ? "" : " !"}`;
}

/** The text that a local model would read: what stands behind the first character that differs is evaluated anew. */
const textOf = (messages) => messages.map(({ role, content }) => JSON.stringify([role, content])).join("\n");

function evaluated(before, now) {
  let same = 0;
  while (same < before.length && before[same] === now[same]) same += 1;
  return countTokens(now.slice(same));
}

/** Drops the oldest rounds at `high` of the window down to `low`; the first message stays. */
function rounds(contextWindow, high, low) {
  let cut = 1;
  return async (messages) => {
    const kept = () => [messages[0], ...messages.slice(cut)];
    if (countTokens(kept()) > high * contextWindow) {
      while (cut < messages.length - 1 && countTokens(kept()) > low * contextWindow) {
        cut += 1;
        while (cut < messages.length - 1 && messages[cut].role === "toolResult") cut += 1;
      }
    }
    return kept();
  };
}

const wordsOf = (text) => new Set(text.match(/[A-Za-z_][\w./-]{7,}/g) ?? []);

async function stretch(name, all, from, calls, contextWindow) {
  const short = (message) =>
    message.role === "toolResult"
      ? {
          ...message,
          content: message.content.map((block) =>
            block.type === "text" ? { ...block, text: block.text.slice(0, 1500) } : block,
          ),
        }
      : message;
  const policies = {
    "rounds 0.75 to 0.5": rounds(contextWindow, 0.75, 0.5),
    everyCall: createTransformContext({ contextWindow, schedule: "everyCall" }),
    sticky: createTransformContext({ contextWindow }),
  };
  const list = all.slice(from).map(short);
  list.splice(
    0,
    list.findIndex(({ role }) => role === "user"),
  );
  for (const [policy, hook] of Object.entries(policies)) {
    const { tokens, user, tool } = await played(list, hook, calls);
    print(
      `${name} from ${from}, ${contextWindow}: ${policy}`.padEnd(64),
      `${Math.round(tokens / 1000)}k`,
      user,
      tool,
    );
  }
}

/** Plays so many calls: tokens evaluated, and what of the user's text and of names that tools had shown was in view. */
async function played(list, hook, calls) {
  const seen = { userSeen: 0, userAll: 0, kept: 0, needed: 0 };
  let [before, tokens, made] = ["", 0, 0];
  const given = [];
  for (const message of list) {
    if (message.role !== "assistant") {
      given.push(message);
      continue;
    }
    const sent = await hook(given.slice());
    const text = textOf(sent);
    tokens += evaluated(before, text);
    before = text;
    look(seen, given, sent, message);
    given.push({ ...message, usage: { ...ZERO, input: countTokens(sent) } });
    made += 1;
    if (made === calls) break;
  }
  return { tokens, user: percent(seen.userSeen, seen.userAll), tool: percent(seen.kept, seen.needed) };
}

function look(seen, given, sent, { content }) {
  const users = (messages) => countTokens(messages.filter(({ role }) => role === "user"));
  seen.userSeen += users(sent);
  seen.userAll += users(given);
  const results = (messages) => wordsOf(textOf(messages.filter(({ role }) => role === "toolResult")));
  const [shown, ever] = [results(sent), results(given)];
  const needed = Array.from(wordsOf(JSON.stringify(content))).filter((word) => ever.has(word));
  seen.needed += needed.length;
  seen.kept += needed.filter((word) => shown.has(word)).length;
}

async function stretches(paths) {
  console.log(
    "\nsmall windows: tokens evaluated, the user's text in view, names that tools had shown in view",
  );
  const sessions = [
    ["examples/session.jsonl", [[0, 81]]],
    ...paths.map((path) => [
      path,
      [
        [2, 60],
        [100, 60],
        [220, 60],
      ],
    ]),
  ];
  for (const contextWindow of [8192, 16_384])
    for (const [path, places] of sessions) {
      const { messages } = await loadSession(path);
      for (const [from, calls] of places) await stretch(basename(path), messages, from, calls, contextWindow);
    }
}

/** A chat whose user sends something large at each call. */
async function chat(name, gapMs, contentOf) {
  const by = scribe();
  const meter = new Meter(3000, 1.25);
  const hook = createTransformContext({ contextWindow: 200_000 });
  const messages = [];
  let sent = [];
  for (let i = 0; i < 300; i += 1) {
    messages.push(by.user(contentOf(i), gapMs));
    sent = await hook(messages.slice());
    const answer = `In ${i} I see a garden with a bench number ${i} and ${i * 3} flowers. `.repeat(4);
    messages.push(by.says(answer, meter.call(sent, by.now())));
  }
  print(
    name,
    `$${meter.dollars.toFixed(2)}`,
    `${sent.filter(({ role }) => role === "assistant").length} answers`,
  );
}

async function chats() {
  console.log("\n300 calls in a chat: bill, answers in view at the end");
  const image = (i) => ({
    type: "image",
    data: Buffer.alloc(2048, i & 255).toString("base64"),
    mimeType: "image/jpeg",
  });
  const photo = (i) => [{ type: "text", text: `photo ${i}: what do you see in this one?` }, image(i)];
  await chat("photos, a minute apart", 60_000, photo);
  await chat("photos, an hour apart", 3_600_000, photo);
  const paste = (i) => [{ type: "text", text: `What is wrong in this?\n${lines(70, i)}` }];
  await chat("long pastes, a minute apart", 60_000, paste);
}

if (process.argv.includes("--help")) {
  console.log(
    readFileSync(new URL(import.meta.url), "utf8")
      .split("\n", 2)
      .join("\n"),
  );
} else {
  await refusals();
  await largeResults();
  await stretches(process.argv.slice(2));
  await chats();
}
