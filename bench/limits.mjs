// What limits cost: refusals, large results, small windows, photos and long pastes, each against a provider that counts,
// caches and refuses. `npm run bench:limits [SESSION.jsonl…]`; without a session the stretches are of the example alone.

import { basename } from "node:path";
import { parseArgs } from "node:util";
import * as made from "../__test__/support/messages.mjs";
import { REFUSALS } from "../__test__/support/refusals.mjs";
import { countTokens, createTransformContext } from "../index.js";
import { countedRun, vocabularyOf } from "./local/counts.mjs";
import { stretchOf } from "./local/stretches.mjs";

const { positionals: paths } = parseArgs({ allowPositionals: true });
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
    user: (content, ms) => stamped(made.user(content), ms),
    says: (text, usage = ZERO) => stamped(made.answer(text, { usage })),
    asks(ids, usage = ZERO) {
      const calls = ids.map((id) => made.call(id, { arguments: { path: `${id}.ts` } }));
      return stamped(made.answer(calls, { usage, stopReason: "toolUse" }));
    },
    result: (id, text) => stamped(made.result(id, text)),
    fails: (errorMessage) => stamped(made.answer([], { usage: ZERO, stopReason: "error", errorMessage })),
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

/** Small windows on a server with one prefix cache, as `bench:local` counts them. */
async function stretches() {
  console.log(
    "\nsmall windows: tokens evaluated, the user's text in view, names that tools had shown in view",
  );
  const vocabulary = vocabularyOf("r50k_base");
  const places = [
    { path: "examples/session.jsonl", from: 0, calls: 81 },
    ...paths.flatMap((path) => [2, 100, 220].map((from) => ({ path, from, calls: 60 }))),
  ];
  for (const window of [8192, 16_384])
    for (const { path, from, calls } of places) {
      const stretch = await stretchOf(path, { from, calls });
      for (const arm of ["rounds 0.75 → 0.5", "everyCall", "balanced"]) {
        const { evaluated, userText, toolNames } = await countedRun(arm, stretch, { window, vocabulary });
        print(
          `${basename(path)} from ${from}, ${window}: ${arm}`.padEnd(60),
          `${(evaluated / 1000).toFixed(1)}k`,
          percent(userText, 1),
          percent(toolNames, 1),
        );
      }
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

await refusals();
await largeResults();
await stretches();
await chats();
