// A host that goes back, aborts, branches, asks aside and appends: no request breaks a rule that the list keeps, and what one
// conversation learned stays its own.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createTransformContext } from "../index.js";
import { Conversations } from "../lib/hook/conversations.js";
import { isSameMessage, positionsIn } from "../lib/hook/values.js";
import { talk } from "./support/live/talk.mjs";
import * as made from "./support/messages.mjs";
import { brokenRules } from "./support/request-rules.mjs";
import { dice } from "./support/transcripts.mjs";

const BIG = Array.from({ length: 9000 }, (_, i) => `w${i}`).join(" ");
const PAGE = BIG.slice(0, 6000);
const WINDOW = { contextWindow: 8000 };

let clock = 1.7e12;
const stamp = () => {
  clock += 1000;
  return { timestamp: clock };
};
const user = (content) => made.user(content, stamp());
const thought = (value) => made.thinking(value, "s");
const says = (value) => made.answer(value, { model: "m", usage: {}, ...stamp() });
const calls = (ids, path = "x", blocks = []) =>
  made.answer([...blocks, ...ids.map((id) => made.call(id, { arguments: { path } }))], {
    ...{ model: "m", usage: {}, ...stamp() },
  });
const result = (id, value) => made.result(id, value, stamp());

/** What a call gives that is aborted after so many microtasks. */
async function abortedAfter(microtasks, hook, list) {
  const controller = new AbortController();
  const pending = hook(list, controller.signal);
  for (let i = 0; i < microtasks; i += 1) await null;
  controller.abort();
  return pending;
}

test("after an aborted call only what the next one changes is told as changed", async () => {
  const events = [];
  const onEvent = (event) => event.type === "transformed" && events.push(event);
  for (let microtasks = 0; microtasks < 60; microtasks += 1) {
    const hook = createTransformContext({ ...WINDOW, onEvent });
    const list = [user("go"), calls(["c0"]), result("c0", BIG), says("done"), user("next")];
    await hook(list);
    list.push(says("well"), user("and"));
    const told = events.length;
    const sent = await abortedAfter(microtasks, hook, list);
    assert.equal(sent === list, events.length === told, "an event tells what is sent");
    list.push(says("so"), user("then"));
    await hook(list);
    const { tokensBefore, tokensAfter, firstChanged } = events.at(-1);
    assert.ok(tokensAfter < tokensBefore, "something is edited");
    assert.equal(firstChanged, undefined);
  }
});

test("a call over an edited list that is aborted leaves nothing behind", async () => {
  let told;
  const onEvent = (event) => {
    if (event.type === "transformed") told = event;
  };
  const next = async (stopped) => {
    const hook = createTransformContext({ ...WINDOW, onEvent });
    const list = [user("go")];
    for (let i = 0; i < 3; i += 1) list.push(calls([`c${i}`]), result(`c${i}`, PAGE));
    list.push(says("done"), user("next"));
    await hook(list);
    const edited = list.with(2, result("c0", "pruned"));
    if (stopped !== undefined) await abortedAfter(stopped, hook, edited);
    const sent = await hook([...list, says("well"), user("and")]);
    return [told.firstChanged, told.reason, ...sent.map(({ content }) => content)];
  };
  const alone = await next();
  for (let microtasks = 0; microtasks < 20; microtasks += 1) {
    assert.deepEqual(await next(microtasks), alone);
  }
});

test("an aborted call that waits for its fork leaves no conversation behind", async () => {
  const reasonsBy = async (aborts) => {
    const reasons = [];
    const onEvent = ({ type, reason }) => type === "transformed" && reasons.push(reason);
    const hook = createTransformContext({ contextWindow: 32_000, onEvent });
    const list = [user("go")];
    let tokens = 0;
    for (let call = 0; call < 12; call += 1) {
      const summary = { role: "compactionSummary", summary: "earlier", tokensBefore: 5, ...stamp() };
      for (let microtasks = aborts && call >= 3 ? 6 : 30; microtasks < 30; microtasks += 6) {
        await abortedAfter(24, hook, [...list, user("wait")]);
        await abortedAfter(microtasks, hook, [summary, ...list.slice(-2)]);
      }
      tokens = countTokens(await hook(list));
      const usage = { input: 3, output: 9, cacheRead: 0, cacheWrite: tokens };
      list.push({ ...calls([`c${call}`]), usage }, result(`c${call}`, BIG.slice(0, 8000)));
    }
    return reasons;
  };
  const moved = (reasons) => reasons.filter((reason) => reason.startsWith("moved: over"));
  assert.deepEqual(moved(await reasonsBy(true)), moved(await reasonsBy(false)));
});

for (const schedule of ["everyCall", "sticky"]) {
  for (const kept of [1, 2, 4]) {
    test(`${schedule}: a compaction that keeps ${kept} messages sends no thinking made behind others`, async () => {
      const hook = createTransformContext({ contextWindow: 200_000, schedule });
      const list = [];
      for (let round = 0; round < 3; round += 1) {
        list.push(user(`question ${round}`));
        await hook(list.slice());
        const content = [thought("hm"), made.text(`answer ${round}`)];
        list.push(made.answer(content, { model: "claude-opus-5-5", ...stamp() }));
      }
      const summary = { role: "compactionSummary", summary: "earlier", tokensBefore: 5, ...stamp() };
      const sent = await hook([summary, ...list.slice(-kept), user("and now?")]);
      assert.equal(sent.length, kept + 2);
      assert.ok(!JSON.stringify(sent).includes('"thinking"'));
    });
  }

  test(`${schedule}: an aborted call with one more message takes no thinking away`, async () => {
    const sentBy = async (aborts) => {
      const hook = createTransformContext({ ...WINDOW, schedule });
      const list = [user("go")];
      const sent = [];
      for (const [i, blocks] of [[], [thought("a")], [], [thought("b")], [thought("c")], []].entries()) {
        if (aborts) await abortedAfter(9, hook, [...list, user("wait")]);
        sent.push((await hook(list)).map(({ content }) => content));
        const bound = { ...calls([`c${i}`], "x", blocks), model: "claude-opus-5-5" };
        list.push(bound, result(`c${i}`, "ok"));
      }
      return sent;
    };
    assert.deepEqual(await sentBy(true), await sentBy(false));
  });
}

test("a call that has said what it sends is sent, whenever it is cancelled after", async () => {
  for (let microtasks = 0; microtasks < 8; microtasks += 1) {
    let controller;
    const cancel = async () => {
      for (let i = 0; i < microtasks; i += 1) await null;
      controller.abort();
    };
    const onEvent = ({ type }) => type === "transformed" && cancel();
    const list = [user("go"), calls(["c0"]), result("c0", BIG), says("done"), user("next")];
    const hook = createTransformContext({ ...WINDOW, onEvent });
    // The second call has the plan of the first.
    for (let call = 0; call < 2; call += 1) {
      controller = new AbortController();
      assert.notEqual(await hook(list, controller.signal), list);
    }
  }
});

/**
 * What the input of 160 calls costs in a window of so many tokens, and how many batches the list's own calls made. `aside` is
 * called with the hook and the list before each, `meanwhile` before its answer.
 */
async function played(contextWindow, { view, aside, meanwhile } = {}) {
  let hook;
  const makeHook = (options) => {
    hook = createTransformContext(options);
    return async (list) => {
      const sent = await hook(list);
      await meanwhile?.(hook, list);
      return sent;
    };
  };
  const { call, loop } = talk({ contextWindow }, {}, { view, makeHook });
  let [paid, batches] = [0, 0];
  for (let at = 0; at < 160; at += 1) {
    await aside?.(hook, loop.messages);
    const { given, sent, usage, reason } = await call(400 + 7 * (at % 90));
    assert.deepEqual(brokenRules(sent, given), []);
    paid += usage.cost.total - usage.cost.output;
    batches += Number(reason.startsWith("moved"));
  }
  return { paid, batches };
}

const aside = (content) => made.user(content, { timestamp: clock });
for (const contextWindow of [32_000, 200_000]) {
  test(`nothing costs more in a window of ${contextWindow} tokens`, async (t) => {
    const plain = await played(contextWindow);
    assert.ok(plain.batches > 1, `${plain.batches}`);
    for (const [what, more] of [
      ["a message appended to each request", { view: (list) => [...list, aside(`state ${list.length}`)] }],
      ["a side question", { aside: (hook, list) => hook([...list, aside("a title?")]) }],
      ["a side question under way", { meanwhile: (hook, list) => hook([...list, aside("a title?")]) }],
      [
        "a side list with a preamble",
        { aside: (hook, list) => hook([aside(`of ${list.length}`), ...list, aside("a title?")]) },
      ],
    ]) {
      await t.test(`for ${what}`, async () => {
        const { paid } = await played(contextWindow, more);
        assert.ok(paid <= 1.05 * plain.paid, `${paid} against ${plain.paid}`);
      });
    }
  });
}

for (const [what, given] of [
  ["cuts its list at the front", (list, at) => list.slice(2 * at + 1)],
  ["puts a new block before all", (list, at) => [aside(`block ${at}`), ...list]],
]) {
  test(`of a host that ${what} at each call every message is read once`, async () => {
    const read = new Map();
    const protect = (message) => {
      read.set(message, (read.get(message) ?? 0) + 1);
      return false;
    };
    const hook = createTransformContext({ protect });
    const list = [
      user("go"),
      ...Array.from({ length: 40 }, (_, i) => [calls([`c${i}`]), result(`c${i}`, "x")]).flat(),
    ];
    for (let at = 0; at < 30; at += 1) {
      const requested = given(list, at);
      assert.deepEqual(brokenRules(await hook(requested), requested), []);
      list.push(calls([`n${at}`]), result(`n${at}`, "y"));
    }
    assert.deepEqual([...new Set(read.values())], [1]);
  });
}

test("a list of which every second message is gone is searched in proportion to its length", () => {
  let looks = 0;
  const list = Array.from({ length: 2000 }, (_, i) => user(`message ${i}`));
  const known = new Proxy(list, {
    get(of, key) {
      looks += 1;
      return of[key];
    },
  });
  for (const copied of [(left) => left, structuredClone]) {
    looks = 0;
    const left = list.filter((_, i) => i % 2 === 0);
    assert.deepEqual(
      positionsIn(known, copied(left), 0),
      Int32Array.from(left, (_, i) => 2 * i),
    );
    assert.ok(looks < 20 * list.length, `${looks} looks`);
  }
});

test("a copy from JSON is the same message, though it lacks the fields that held undefined", () => {
  const message = { ...says("done"), errorMessage: undefined };
  const copy = JSON.parse(JSON.stringify(message));
  assert.ok(isSameMessage(message, copy) && isSameMessage(copy, message));
  assert.ok(!isSameMessage(message, { ...copy, errorMessage: "no" }));
});

test("what stands in two lists without being an object tells of no common past", () => {
  for (const nothing of [undefined, null, "text", 7]) {
    const known = { target: [user("go"), says("done"), nothing] };
    const conversations = new Conversations();
    conversations.keep(known, known.target, {});
    assert.deepEqual(conversations.find([user("another"), nothing, user("task")], {}), {});
  }
});

test("what a question aside finds unanswered is sent on as it was", async () => {
  const reasons = [];
  const onEvent = ({ type, reason }) => type === "transformed" && reasons.push(reason);
  let moved = 0;
  for (let length = 5; length < 30; length += 1) {
    const hook = createTransformContext({ contextWindow: 12_000, onEvent });
    const list = [user("go")];
    let sent;
    const step = (i) => {
      const usage = { input: 10, cacheRead: Math.round(490 + 1.2 * countTokens(sent)), cacheWrite: 0 };
      return [{ ...calls([`c${i}`], `f${i}`), usage }, result(`c${i}`, `line of ${i}\n`.repeat(90))];
    };
    for (let i = 0; i <= length; i += 1) {
      sent = await hook(list.slice());
      if (i < length) list.push(...step(i));
    }
    if (!reasons.at(-1).startsWith("moved")) continue;
    moved += 1;
    await hook([...list, user("a title?")]);
    const next = await hook([...list, ...step(length)]);
    assert.deepEqual(next.slice(0, sent.length), sent);
  }
  assert.ok(moved > 0);
});

test("agents begun from copies of one history are not compared by value with each other at every call", async () => {
  const hook = createTransformContext();
  const history = [user("go"), says("well"), says("so")];
  const agents = Array.from({ length: 20 }, (_, part) => [...structuredClone(history), user(`part ${part}`)]);
  let looks = 0;
  const { content } = history[1];
  const get = () => {
    looks += 1;
    return content;
  };
  for (const list of agents) Object.defineProperty(list[1], "content", { enumerable: true, get });
  for (let round = 0; round < 4; round += 1) {
    looks = 0;
    for (const list of agents) {
      await hook(list);
      list.push(says(`round ${round}`), user(`next of ${round}`));
    }
  }
  assert.ok(looks <= 10 * agents.length, `${looks} looks`);
});

test("a conversation whose first message was edited stays known among many", () => {
  const conversations = new Conversations();
  const kind = { encoding: () => undefined, language: () => "en" };
  const list = [user("go"), calls(["c0"]), result("c0", "one"), says("done")];
  const keep = (target, found) => conversations.keep({ target, language: "en" }, target, found);
  keep(list, {});
  const changed = [user("edited"), ...list.slice(1)];
  keep(changed, conversations.find(changed, kind));
  for (let i = 0; i < 20; i += 1) keep([user(`task ${i}`)], {});
  assert.equal(conversations.find([...changed, user("on")], kind).conversation?.target, changed);
});

test("of more chats than are compared each goes on with what it was sent", async () => {
  const hook = createTransformContext({ contextWindow: 200_000 });
  const chats = Array.from({ length: 300 }, (_, chat) => {
    const steps = (step) => [calls([`c${step}`]), result(`c${step}`, `${chat} ${step}\n`.repeat(200))];
    return [user(`chat ${chat}`), ...Array.from({ length: 8 }, (_, step) => steps(step)).flat()];
  });
  const sent = [];
  for (const chat of chats) sent.push(await hook(chat));
  for (const [at, chat] of chats.entries()) {
    chat.push(says("done"), user("on"));
    const again = await hook(chat);
    assert.ok(sent[at][2] !== chat[2] && again[2] === sent[at][2], `the edited copy in chat ${at}`);
  }
});

test("before any answer lists that begin alike are two conversations, behind one they are branches", () => {
  const conversations = new Conversations();
  const kind = { encoding: () => undefined, language: () => "en" };
  const list = [user("go"), says("done"), user("next"), says("done again")];
  const conversation = { target: list, language: "en" };
  conversations.keep(conversation, list, {});
  assert.deepEqual(conversations.find([list[0], user("another")], kind), {});
  const branch = conversations.find([...list.slice(0, 2), user("another")], kind);
  assert.equal(branch.conversation, conversation);
  assert.equal(branch.isFork, true);
});

test("a conversation with ids like another's keeps its own language", async () => {
  const bare = (messages) => structuredClone(messages).map(({ timestamp, ...message }) => message);
  const talk = (first) =>
    bare([
      user(first),
      ...Array.from({ length: 10 }, (_, i) => [
        calls([`call_${i}`], "."),
        result(`call_${i}`, i === 0 ? "src" : "one line of output\n".repeat(300)),
      ]).flat(),
    ]);
  const hook = createTransformContext({ ...WINDOW, marker: "auto" });
  const [chinese, english] = [talk("请修复这个测试"), talk("Fix the test please")];
  await hook(bare(chinese.slice(0, 3)));
  await hook(bare(english.slice(0, 3)));
  const sent = JSON.stringify(await hook(bare(english)));
  assert.ok(sent.includes("lines omitted") && !sent.includes("已省略"));
});

test("answers that are alike belong to the conversation they stand in", async () => {
  const told = [];
  const onEvent = ({ tokensAfter }) => told.push(tokensAfter);
  const hookOf = () => createTransformContext({ ...WINDOW, schedule: "everyCall", onEvent });
  const shared = hookOf();
  const words = (count, word) => Array.from({ length: count }, (_, i) => `${word} ${i}`).join(" ");
  const conversation = (what, seen) => {
    const own = hookOf();
    const list = [made.user(what), made.answer([made.call("c0")]), made.result("c0", seen)];
    const call = async (given) => {
      const sent = await shared(given);
      assert.deepEqual(await own(given), sent);
      assert.equal(told.pop(), told.pop(), "the same estimate as on a hook of its own");
      return provided(sent);
    };
    return {
      list,
      call,
      goOn: (usage) => list.push(made.answer("It works.", { usage }), made.user("go on")),
    };
  };
  const first = conversation("the first task", words(500, "file"));
  const second = conversation("a second task", words(515, "line"));
  for (const { list, call, goOn } of [first, second]) {
    list[1].usage = await call(list.slice(0, 1));
    goOn(await call(list.slice()));
  }
  await first.call(first.list.slice());
  // A copy of the second's newest answer stands in the first, nearer to the end than what of the second was seen.
  second.list[0] = made.user("a second task, put otherwise");
  await second.call(second.list.slice());
  // The report of its call fits the call of the first as well: both ended alike, with nearly the same tokens.
  const usage = await first.call(first.list.slice());
  second.list[2] = made.result("c0", "[cleared]");
  second.goOn(usage);
  await second.call(second.list.slice());
});

test("a new model that counts far more or less, with half its prompt cached, is estimated right from the third call on", async () => {
  const tell = ({ input, cacheRead, cacheWrite, ...usage }) => {
    const half = (input + cacheRead + cacheWrite) / 2;
    return { ...usage, input: Math.ceil(half), cacheRead: Math.floor(half), cacheWrite: 0 };
  };
  for (const scale of [0.2, 0.4, 0.55, 2.2, 2.35, 2.5]) {
    const models = { n: { scale, basePrompt: 3000 * scale } };
    const agent = talk({ basePrompt: 3900, scale: 1.3, models }, {}, { tell });
    await agent.calls(6, 1000);
    agent.scribe.model = "n";
    for (const { estimate, prompt, error } of (await agent.calls(6, 1000)).slice(2))
      assert.ok(Math.abs(error) < 0.03, `${estimate} of ${prompt}, scale ${scale}`);
  }
});

/** Calls of the loop; more by PI_STRATA_INTERLEAVED_CALLS, others by PI_STRATA_FIRST, the seed of the first host. */
const CALLS = Number(process.env.PI_STRATA_INTERLEAVED_CALLS ?? 10_000);
const FIRST = Number(process.env.PI_STRATA_FIRST ?? 1);
const CALLS_PER_HOST = 120;
/** Hosts whose conversations were mixed up once: by a call that stopped half way, a compaction of one of two branches, an edit in one. */
const ONCE_BROKEN = [5100, 5881, 21186];
/** Reports of a conversation before its estimate is held to the provider's count. */
const REPORTS = 3;

const PROVIDER = { base: 500, scale: 1.2 };
/** The usage that the provider reports of a request. */
function provided(sent) {
  const tokens = Math.round(PROVIDER.base + PROVIDER.scale * countTokens(sent));
  return { input: 10, cacheRead: tokens - 10, cacheWrite: 0, output: 5 };
}
const COPIES = {
  none: (list) => list.slice(),
  copies: (list) => structuredClone(list),
  timeless: (list) => structuredClone(list).map(({ timestamp, ...message }) => message),
};

/** A host with conversations on one hook, and of each family of branches another hook of its own. */
class Host {
  #roll;
  #options;
  #hook;
  #given;
  #isOwn;
  #events = [];
  #made = 0;
  #talks;
  calls = 0;

  constructor(roll) {
    this.#roll = roll;
    const pick = (items) => items[roll(items.length)];
    const copies = pick(["none", "none", "copies", "timeless"]);
    this.#isOwn = copies === "none";
    this.#given = COPIES[copies];
    this.#options = {
      contextWindow: pick([4000, 8000, 20_000]),
      reserveTokens: 500,
      schedule: pick(["sticky", "sticky", "everyCall"]),
    };
    const onEvent = (event) => this.#events.push(event);
    this.#hook = createTransformContext({ ...this.#options, onEvent });
    this.#talks = Array.from({ length: pick([1, 2, 3, 5, 10, 40, 300]) }, (_, i) => this.#talk(i));
  }

  #talk(i) {
    const family = { hook: createTransformContext(this.#options), isAlike: this.#isOwn };
    return { list: [user(this.#roll(2) === 0 ? "go" : `task ${i}`)], family, usage: undefined };
  }

  #text(most) {
    const line = () => `line ${this.#roll(99)} of src/file${this.#roll(9)}.ts`;
    return Array.from({ length: 1 + this.#roll(most) }, line).join("\n");
  }

  #step({ list, usage }) {
    const ids = Array.from({ length: this.#roll(4) }, (_, i) => `call_${list.length}_${i}`);
    const blocks = this.#roll(3) === 0 ? [thought(this.#text(9))] : [];
    const said = ids.length > 0 ? calls(ids, this.#text(20), blocks) : says(this.#text(5));
    const isTold = list.length === 1 || this.#roll(8) > 0;
    list.push({ ...said, usage: isTold ? usage : {} });
    if (ids.length > 0) list.push(...ids.map((id) => result(id, this.#text(60))));
    else list.push(user(this.#text(4)));
  }

  /** Goes back to a place, and answers anew what is open there. */
  #back(list) {
    const kept = list.slice(0, 1 + this.#roll(list.length));
    const at = kept.findLastIndex(({ role }) => role === "assistant");
    const open = at < 0 ? [] : kept[at].content.flatMap(({ type, id }) => (type === "toolCall" ? [id] : []));
    const answered = new Set(kept.slice(at + 1).map(({ toolCallId }) => toolCallId));
    return [...kept, ...open.filter((id) => !answered.has(id)).map((id) => result(id, this.#text(60)))];
  }

  #edited(list) {
    const at = list.findIndex(({ role }) => role === "toolResult");
    const content = [{ type: "text", text: `[pruned] ${this.#made++}` }];
    return at < 0 ? list : list.with(at, { ...list[at], content });
  }

  #compacted(list) {
    const at = list.findIndex(({ role }, index) => index > list.length / 2 && role === "assistant");
    const summary = { role: "compactionSummary", summary: this.#text(4), tokensBefore: 9, ...stamp() };
    return at < 0 ? list : [summary, ...list.slice(at)];
  }

  /** The host's next move in one of its conversations. */
  async act() {
    let talk = this.#talks[this.#roll(this.#talks.length)];
    const { family } = talk;
    switch (this.#roll(12)) {
      case 0:
        talk.list = this.#back(talk.list);
        break;
      case 1:
        talk = { ...talk, list: this.#back(talk.list) };
        if (this.#talks.length < 300) this.#talks.push(talk);
        break;
      case 2:
        family.isAlike = false;
        await abortedAfter(this.#roll(40), this.#hook, this.#given(talk.list));
        if (this.#roll(2) === 0) talk.list = this.#edited(talk.list);
        break;
      case 3:
        talk.list = this.#edited(talk.list);
        break;
      case 4:
        family.isAlike = false;
        await this.#call([...talk.list, user("a side question")], family);
        break;
      case 5:
        family.isAlike = false;
        talk.list = this.#compacted(talk.list);
        break;
      default:
    }
    talk.usage = await this.#call(talk.list, family);
    this.#step(talk);
  }

  /** The usage that the provider reports. */
  async #call(list, family) {
    this.calls += 1;
    this.#events = [];
    const given = this.#given(list);
    const sent = await this.#hook(given);
    assert.deepEqual(brokenRules(sent, given), []);
    const reports = list.filter(({ usage }) => usage?.input > 0).length;
    if (family.isAlike) {
      const alone = await family.hook(given);
      // Before a report of its own a conversation goes by what the hook knows.
      if (reports > 0 || this.#options.schedule === "everyCall") assert.deepEqual(sent, alone, "as alone");
    }
    const usage = provided(sent);
    const tokens = usage.input + usage.cacheRead;
    const isSaid = this.#events.some(({ type }) => type === "contextOverflow");
    const { tokensAfter } = this.#events.find(({ type }) => type === "transformed");
    const isOver = tokens > this.#options.contextWindow && reports >= REPORTS && !isSaid;
    assert.ok(!isOver, `${tokens} tokens, estimated ${tokensAfter}`);
    return usage;
  }
}

test(`${CALLS} calls in many conversations on one hook are whole, and as on a hook of their own`, async () => {
  for (let nth = -ONCE_BROKEN.length, made = 0; made < CALLS; nth += 1) {
    const seed = nth < 0 ? ONCE_BROKEN.at(nth) : FIRST + nth;
    const host = new Host(dice(seed));
    try {
      while (host.calls < CALLS_PER_HOST) await host.act();
    } catch (error) {
      error.message = `seed ${seed}, call ${host.calls}: ${error.message}`;
      throw error;
    }
    made += host.calls;
  }
});
