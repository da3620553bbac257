// The inspector: its page in a real browser while a real Agent runs, what it keeps, and whom it answers.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Agent } from "@earendil-works/pi-agent-core";
import fc from "fast-check";
import { createScriptedModel, scriptedModel } from "../examples/scripted/model.mjs";
import { createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { createInspector } from "../lib/inspector/index.js";
import { CallLog } from "../lib/inspector/log.js";
import { blocksOf } from "../report/blocks.mjs";
import { agentSession } from "./support/agent-session.mjs";
import { checkPage, pageTest } from "./support/browser.mjs";
import { fieldsOf } from "./support/fields.mjs";
import { nodeBinary } from "./support/nodes.mjs";
import { EXAMPLE } from "./support/recording.mjs";

const LOCAL = { mayAsk: /^(http:\/\/127\.0\.0\.1:|data:)/, locale: "en-US" };
const HOSTILE = `<img src=x onerror="window.hacked=1"></pre><script>window.hacked=1</script>`;

/** An agent whose tool answers at length, and hostilely. */
function hostileAgent(inspector, { steps, options, onRun = () => {} }) {
  const script = Array.from({ length: steps }, (_, i) => ({
    thinking: `step ${i} ${HOSTILE}`,
    text: `Next ${HOSTILE}`,
    calls: [{ name: "read", arguments: { path: `${HOSTILE} ${i}` } }],
  }));
  const model = createScriptedModel([
    ...script,
    { text: `Done ${HOSTILE}` },
    ...script,
    { text: "Done again" },
  ]);
  const text = Array.from({ length: 80 }, (_, i) => `line ${i} of a long result ${HOSTILE}`).join("\n");
  const tool = {
    name: "read",
    label: "read",
    description: "reads",
    parameters: { type: "object", properties: { path: { type: "string" } } },
    async execute() {
      await onRun();
      return { content: [{ type: "text", text }], details: {} };
    },
  };
  const agent = new Agent({
    initialState: { systemPrompt: "Be brief.", model: scriptedModel, tools: [tool], thinkingLevel: "off" },
    streamFn: model.streamFn,
    transformContext: inspector.createTransformContext(options),
  });
  agent.subscribe(inspector.answered);
  return agent;
}

pageTest("a page shows a running agent call by call, and text only as text", LOCAL, async (page, t) => {
  const { inspector } = watch(t, {}, { title: `An agent ${HOSTILE}` });
  const answers = [];
  page.on("response", async (response) => answers.push(await response.text().catch(() => "")));
  await page.goto(await inspector.open());
  await page.getByText("Waiting for the first call.").waitFor();

  const options = { schedule: "everyCall", contextWindow: 30_000, reserveTokens: 1000 };
  let ran = 0;
  const agent = hostileAgent(inspector, {
    steps: 14,
    options,
    onRun: async () => {
      ran += 1;
      // While the agent is still at its third call the page already shows the first two.
      if (ran === 3) await page.locator("#status", { hasText: "3 calls so far" }).waitFor();
    },
  });
  await agent.prompt(`Go ${HOSTILE}`);
  await page.locator("#status", { hasText: "15 calls so far" }).waitFor();
  assert.equal(await page.locator("#calls tbody tr").count(), 15);
  assert.match(await page.textContent("#calls tbody tr"), /^15/);
  assert.equal(await page.locator(".chart canvas").count(), 1);
  const tiles = await page.locator(".tiles").textContent();
  assert.match(tiles, /In front of the model/);
  assert.match(tiles, /median over 15 reported calls/);
  assert.match(tiles, /saved \$|more than without the hook/);
  assert.match(await page.textContent("#calls"), /missed: an edit by the hook/);
  assert.match(await page.locator(".legend").textContent(), /tool result [\d,]+.*removed [\d,]+/);
  assert.ok(!answers.slice(1).join("").includes("onerror"), "no text before a click");
  await checkPage(page);

  const blocks = page.locator(".map canvas");
  await blocks.focus();
  for (let i = 0; i < 3; i += 1) await page.keyboard.press("ArrowRight");
  await page
    .locator(".tip", { hasText: /shortened since call \d+.*old tool result|left out since/ })
    .waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#text pre").last().waitFor();
  assert.match(await page.textContent("#text"), /line 40 of a long result <img src=x/);
  assert.equal(await page.locator("#text img, #text script").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.click("#close");
  assert.equal(await page.locator("#text").isVisible(), false);

  // Back to an earlier call: the page stays there while the agent goes on.
  await page.getByRole("slider").fill("2");
  assert.equal(await page.getByRole("checkbox").isChecked(), false);
  await agent.prompt("More");
  await page.locator("#status", { hasText: "30 calls so far" }).waitFor();
  assert.equal(await page.getByRole("slider").inputValue(), "2");
  await page.click("#language");
  assert.equal(await page.getAttribute("html", "lang"), "zh");
  await page.reload();
  await page.locator("#status", { hasText: "30" }).waitFor();
  assert.equal(await page.getAttribute("html", "lang"), "zh", "the language stays");
  assert.doesNotMatch(await page.textContent("main"), /undefined|NaN|What the model sees/);
});

pageTest(
  "a page with no news is not drawn anew, and fits a narrow screen at once",
  LOCAL,
  async (page, t) => {
    // On a busy machine the observer that draws the blocks anew runs late.
    await page.addInitScript(() => {
      window.ResizeObserver = class {
        observe() {}
        disconnect() {}
      };
    });
    const { inspector, hook } = watch(t, {});
    await hook(conversation(12));
    await page.goto(await inspector.open());
    await page.locator("#status", { hasText: "1 call so far" }).waitFor();
    await page.evaluate(() => {
      window.drawn = 0;
      const count = (changes) => {
        window.drawn += changes.length;
      };
      new MutationObserver(count).observe(document.body, { childList: true, subtree: true });
    });
    for (let i = 0; i < 3; i += 1) await page.waitForResponse(/state/);
    assert.equal(await page.evaluate(() => window.drawn), 0);
    await page.setViewportSize({ width: 400, height: 900 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
  },
);

pageTest("thousands of calls are shown, and memory stays bounded", LOCAL, async (page, t) => {
  const options = { schedule: "everyCall", contextWindow: 2000, reserveTokens: 0 };
  const { inspector, hook } = watch(t, options);
  const url = await inspector.open();
  const messages = [];
  const play = async (calls) => {
    for (let i = 0; i < calls; i += 1) {
      messages.push({ role: "user", content: `question ${messages.length}`, timestamp: messages.length });
      await hook(messages);
      const usage = { input: 5, output: 1, cacheRead: 10 + i, cacheWrite: 0 };
      messages.push({ role: "assistant", content: [], usage, timestamp: messages.length });
      // Hosts compact: otherwise the hook itself would have ever more to plan over.
      if (messages.length > 60) messages.splice(0, 40);
    }
  };
  await play(9_000);
  await page.goto(url);
  await page.locator("#status", { hasText: /[\d,]+ calls so far/ }).waitFor();
  const state = async () => (await fetch(new URL("state", url))).json();
  const first = await state();
  assert.equal(first.calls.length, 9_000);
  await play(2_500);
  const second = await state();
  assert.ok(second.calls.length < 9_000, `${second.calls.length} calls`);
  assert.ok(second.messages.role.length <= 20_100);
  assert.notEqual(second.revision, first.revision);
  await page
    .locator("#status", { hasText: `${second.calls.length.toLocaleString("en-US")} calls` })
    .waitFor();
});

/** Enters a call with a list of which each message has one token and none is edited. */
const enter = (log, list) => {
  const conversation = { known: list, tokens: () => list.map(() => 1) };
  log.called({ list, edited: list, plan: { edits: [], threshold: 1 }, conversation });
};

test("a list that is longer than the log holds new messages does not empty it at each call", () => {
  const log = new CallLog({ most: 10 });
  const list = Array.from({ length: 30 }, (_, i) => ({ role: "user", content: `${i}` }));
  const rows = [];
  for (let call = 0; call < 12; call += 1) {
    enter(log, list);
    rows.push(log.since(-1).calls.length);
    list.push({ role: "user", content: `more ${call}` });
  }
  assert.deepEqual(rows, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]);
});

test("a first message that is new at each call does not make the record grow without end", () => {
  const log = new CallLog({ most: 100 });
  const list = [];
  let most = 0;
  for (let call = 0; call < 90; call += 1) {
    list.push({ role: "user", content: `${call}` });
    enter(log, [{ role: "user", content: `date ${call}` }, ...list]);
    const { stretches } = log.since(-1);
    most = Math.max(most, stretches.flatMap(({ opening }) => opening).length);
  }
  assert.ok(most < 1100, `${most} runs`);
});

/** Status of a request with these headers. */
function ask(url, { method = "GET", headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.once("error", reject).end();
  });
}

test("only who knows the address is answered, on this machine, at a free port, and only questions", async () => {
  const inspector = createInspector();
  const url = await inspector.open();
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
  assert.equal(await inspector.open(), url, "opened again it is the same");
  const { origin, host } = new URL(url);
  assert.equal(await ask(url), 200);
  for (const path of ["/", "/state", `/${"A".repeat(32)}/`, "/%00/"])
    assert.equal(await ask(`${origin}${path}`), 404);
  assert.equal(await ask(new URL("nothing", url)), 404);
  assert.equal(await ask(url, { method: "POST" }), 403);
  assert.equal(await ask(url, { headers: { host: host.replace("127.0.0.1", "evil.example") } }), 403);
  const { headers } = await fetch(url);
  assert.match(headers.get("content-security-policy"), /default-src 'none'; script-src 'nonce-/);
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  const other = createInspector();
  await assert.rejects(other.open({ port: Number(new URL(url).port) }), { code: "EADDRINUSE" });
  assert.match(await other.open(), /^http/);
  await Promise.all([inspector.close(), other.close()]);
  await assert.rejects(ask(url), { code: "ECONNREFUSED" });
  assert.notEqual(await inspector.open(), url, "another address, another secret");
  await inspector.close();
});

test("answers at port 80, which a browser does not name", async (t) => {
  const inspector = createInspector();
  t.after(() => inspector.close());
  const url = await inspector.open({ port: 80 }).catch(({ code }) => t.skip(code));
  if (url !== undefined) assert.equal((await fetch(url)).status, 200);
});

test("an option that is not allowed is refused by its name when the inspector is made", () => {
  const wrong = [
    [7, /options must be an object, not 7/],
    [{ titel: "x" }, /there is no option titel; there are title, prices/],
    [{ title: 7 }, /option title is 7; it must be a text/],
    [{ prices: 5 }, /option prices is 5; it must be an object/],
    [{ prices: { input: -1 } }, /prices: option input is -1; it must be a finite number above 0/],
  ];
  for (const [options, message] of wrong)
    assert.throws(() => createInspector(options), { name: "TypeError", message });
});

test("under Node's permission model it opens, or says which flag is missing", async () => {
  const module = JSON.stringify(fileURLToPath(new URL("../lib/inspector/index.js", import.meta.url)));
  const script = `require(${module}).createInspector().open().then(() => "open", (error) => error.message).then(console.log)`;
  const flags = ["--permission", "--allow-fs-read=*", "--no-warnings", "-e", script];
  for (const [name, said] of [
    ["node24", /^open$/],
    ["node26", /--allow-net$/],
  ]) {
    assert.match(execFileSync(nodeBinary(name), flags, { encoding: "utf8" }).trim(), said);
  }
});

test("it does not keep the process alive, not even with a page open", { timeout: 60_000 }, async () => {
  const module = JSON.stringify(fileURLToPath(new URL("../lib/inspector/index.js", import.meta.url)));
  const script = `require(${module}).createInspector().open().then((url) => {
    console.log(url);
    setTimeout(() => {}, 1000);
  });`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const [line] = await once(child.stdout, "data");
  const { status, body } = await fetch(new URL("state", String(line).trim()));
  assert.equal(status, 200);
  await body.getReader().read();
  assert.deepEqual(await exited, [0, null]);
});

/** An inspector that is closed when the test ends, and a hook of its own. */
function watch(t, options = { schedule: "everyCall" }, settings = {}) {
  const inspector = createInspector(settings);
  t.after(() => inspector.close());
  return { inspector, hook: inspector.createTransformContext(options) };
}

const long = "a line of a result\n".repeat(90);
const usage = { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 };
const conversation = (calls) =>
  agentSession(Array(calls).fill(["read", {}, long]), { answer: () => ({ usage }) });

async function stateOf(inspector) {
  return (await fetch(new URL("state", await inspector.open()))).json();
}

test("the hook answers as it would without, and its listener hears what it would", async () => {
  const heard = { plain: [], watched: [] };
  const options = { schedule: "everyCall" };
  const plain = createTransformContext({ ...options, onEvent: ({ type }) => heard.plain.push(type) });
  const watched = createInspector().createTransformContext({
    ...options,
    onEvent: ({ type }) => heard.watched.push(type),
  });
  const messages = conversation(12);
  assert.deepEqual(await watched(messages), await plain(messages));
  assert.deepEqual(heard.watched, heard.plain);
  const short = conversation(1);
  assert.equal(await watched(short), short);
  assert.equal(await watched(null), null);
  const aborted = AbortSignal.abort();
  assert.equal(await watched(messages, aborted), messages);
  assert.throws(() => createInspector().createTransformContext({ nope: 1 }), /nope/);
});

test("changes begin, hold and end; hosts that hand in copies change nothing", async (t) => {
  const { inspector, hook } = watch(t);
  const messages = conversation(12);
  for (const end of [15, 17, 19]) await hook(structuredClone(messages.slice(0, end)));
  const state = await stateOf(inspector);
  assert.equal(state.messages.role.length, 19);
  assert.equal(state.stretches.length, 1);
  const summaries = state.changes.filter(({ action }) => action === "summarize");
  assert.deepEqual(
    summaries.map(({ message, from, to }) => [message, from, to]),
    [
      [2, 1, 3],
      [4, 2, 3],
      [6, 3, 3],
    ],
  );
  for (const { saved, reason } of summaries) assert.deepEqual([saved > 0, reason], [true, "old tool result"]);

  // The host compacts: what was summarised is gone from the transcript, so its change ends.
  const summary = { role: "compactionSummary", summary: "s", timestamp: 99 };
  const kept = structuredClone(messages.slice(15, 19));
  await hook([summary, ...kept]);
  const after = await stateOf(inspector);
  assert.deepEqual(fieldsOf(after.stretches, "cause"), ["start", "compaction"]);
  assert.ok(after.changes.every(({ to }) => to === 3));

  // An edit behind a compaction is none.
  await hook([summary, ...kept.slice(0, 2), { role: "user", content: "another", timestamp: 100 }]);
  assert.equal((await stateOf(inspector)).stretches.at(-1).cause, "edit");
});

test("a reminder behind the list belongs to its one request, and rewrites nothing", async (t) => {
  const { inspector, hook } = watch(t);
  const messages = conversation(12);
  const reminder = (end) => ({ role: "user", content: `reminder ${end}`, timestamp: 100 + end });
  for (const end of [15, 17, 19]) await hook([...messages.slice(0, end), reminder(end)]);
  const state = await stateOf(inspector);
  assert.equal(state.stretches.length, 1);
  const shown = [1, 2, 3].map((call) => blocksOf(state, call).map(({ number }) => number));
  // The reminders are the messages 15, 18 and 21.
  assert.deepEqual(shown[0].slice(14), [14, 15]);
  assert.deepEqual(shown[1].slice(14), [14, 16, 17, 18]);
  assert.deepEqual(shown[2].slice(14), [14, 16, 17, 19, 20, 21]);

  // A host that asks aside without its newest message, and goes on with it.
  const aside = watch(t);
  for (const list of [messages.slice(0, 16), messages.slice(0, 15), messages.slice(0, 17)])
    await aside.hook(list);
  assert.equal(blocksOf(await stateOf(aside.inspector), 3).length, 17);
});

test("the page shows what was sent of each message, also where one was moved", async (t) => {
  const { inspector, hook } = watch(t);
  const remark = { role: "custom", customType: "x", content: "remark", display: false };
  const messages = conversation(12).toSpliced(2, 0, remark);
  const sent = await hook(messages);
  const url = await inspector.open();
  for (const [number, message] of messages.entries()) {
    const shown = await (await fetch(new URL(`message?number=${number}`, url))).json();
    const copy = sent.includes(message) ? undefined : sent[number === 3 ? 2 : number];
    assert.equal(shown.sent, copy?.content[0].text, `message ${number}`);
  }
});

test("every change of a long session is explained, and what is taken out adds up to what was saved", async (t) => {
  const { messages } = await loadSession(EXAMPLE);
  let sent = 0;
  const onEvent = (event) => {
    if (event.type === "transformed") sent = event.tokensAfter;
  };
  const { inspector, hook } = watch(t, { schedule: "sticky", contextWindow: 60_000, onEvent });
  for (const [end, message] of messages.entries()) {
    if (message.role !== "assistant" || end === 0) continue;
    await hook(messages.slice(0, end));
    // The recorded report is not of what is sent here.
    message.usage = { input: sent, output: 1, cacheRead: 0, cacheWrite: 0 };
  }
  const { calls, changes } = await stateOf(inspector);
  const actions = new Set(fieldsOf(changes, "action"));
  assert.ok(actions.has("keepLines") && actions.has("drop"), Array.from(actions).join());
  for (const { message, action, from, reason } of changes)
    assert.ok(reason !== "", `message ${message}, ${action} since call ${from}`);
  const { scale, tokensBefore, tokensAfter } = calls.at(-1);
  const open = changes.filter(({ to }) => to === calls.length);
  const taken = scale * open.reduce((sum, { saved }) => sum + saved, 0);
  const saved = tokensBefore - tokensAfter;
  assert.ok(saved > 0 && Math.abs(taken - saved) < 0.1 * saved, `${taken} of ${saved}`);
});

test("misses have causes, and dollars follow the usage", async (t) => {
  const { inspector, hook } = watch(t, undefined, { prices: { input: 4, read: 1, write: 8 } });
  const messages = conversation(12);
  const answer = (usage, model = "m") => inspector.answered({ role: "assistant", content: [], model, usage });
  await hook(messages.slice(0, 3));
  answer({ input: 0, output: 1, cacheRead: 0, cacheWrite: 1_000_000 });
  await hook(messages.slice(0, 5));
  answer({ input: 0, output: 1, cacheRead: 1_000_000, cacheWrite: 100 });
  await hook(messages.slice(0, 7));
  answer({ input: 0, output: 1, cacheRead: 0, cacheWrite: 1_000_000 }, "other");
  await hook(messages.slice(0, 9));
  answer({ input: 0, output: 1, cacheRead: 0, cacheWrite: 1_000_000 }, "other");
  const { calls } = await stateOf(inspector);
  assert.deepEqual(
    fieldsOf(calls, "miss"),
    [undefined, undefined, "model", "host"],
    "a prompt of a million tokens held something else than these messages",
  );
  assert.equal(calls[0].paid, 8);
  assert.ok(Math.abs(calls[1].paid - 1.0008) < 1e-9);
});

test("a call that no provider would have taken without the hook has no cost without it", async (t) => {
  const { inspector, hook } = watch(
    t,
    { contextWindow: 8000, reserveTokens: 1000 },
    { prices: { input: 5 } },
  );
  const messages = conversation(40);
  for (let length = 3; length < messages.length; length += 2) {
    await hook(messages.slice(0, length));
    inspector.answered({ role: "assistant", content: [], usage: { input: 5000 } });
  }
  const { calls } = await stateOf(inspector);
  const isOver = calls.map(({ tokensBefore, contextWindow }) => tokensBefore > contextWindow);
  assert.deepEqual(new Set(isOver), new Set([false, true]));
  assert.deepEqual(
    isOver,
    fieldsOf(calls, "without").map((dollars) => dollars === undefined),
  );
});

test("a list of another shape has a row that says so", async (t) => {
  const { inspector, hook } = watch(t, { onEvent() {} });
  const messages = [{ role: "tool", tool_call_id: "a", content: "x" }];
  assert.equal(await hook(messages), messages);
  const { calls } = await stateOf(inspector);
  assert.match(calls[0].reason, /the list is not pi's/);
});

test("messages are held by their host alone", async (t) => {
  const { inspector, hook } = watch(t);
  const url = await inspector.open();
  const textOf = async (number) => (await fetch(new URL(`message?number=${number}`, url))).json();
  let messages = conversation(12);
  await hook(messages);
  // A list that was met once may be a copy, which only the hook holds. This host hands in its own messages.
  await hook(messages);
  assert.equal((await textOf(2)).text, long);
  assert.match((await textOf(2)).sent, /已省略/);
  assert.equal(await textOf(9_999), null);
  assert.ok(!(await (await fetch(new URL("state", url))).text()).includes("a line of a result"));

  messages = undefined;
  await hook([{ role: "user", content: "something else", timestamp: 99_999 }]);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  for (let i = 0; i < 5; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    collect();
  }
  assert.equal(await textOf(2), null);
});

/** The status of each answer to these request lines, sent one after another on one connection. */
async function statusesOf(port, requestLines) {
  const socket = connect(port, "127.0.0.1");
  socket.end(requestLines.map((line) => `${line}\r\nHost: 127.0.0.1:${port}\r\n\r\n`).join(""), "latin1");
  const answers = await text(socket).catch(() => "");
  return Array.from(answers.matchAll(/^HTTP\/1\.1 (\d+)/gm), ([, status]) => Number(status));
}

test("no request line ends the host: 30 000 hostile ones", { timeout: 240_000 }, async () => {
  const inspector = createInspector();
  const { port, pathname } = new URL(await inspector.open());
  const known = ["//", "//[", "http://a:99999/", "http://[", "*", "/%", "/\\", "?", "#", "//@:", "/./../"];
  const own = [pathname, pathname.slice(0, -1), "state", "message?number=", "[", "%00", "%ff", "é"];
  const url = fc
    .array(fc.constantFrom(...known, ...own), { minLength: 1, maxLength: 4 })
    .map((some) => some.join(""));
  const line = url.map((path) => `GET ${/^[/*h]/.test(path) ? path : `/${path}`} HTTP/1.1`);
  const lists = fc.sample(fc.array(line, { minLength: 5, maxLength: 5 }), 5_800);
  let answered = 0;
  for (let sent = 0; sent < lists.length; sent += 100) {
    const some = lists.slice(sent, sent + 100).map((lines) => statusesOf(port, lines));
    const statuses = (await Promise.all(some)).flat();
    assert.ok(
      statuses.every((status) => [200, 400, 404, 503].includes(status)),
      statuses.join(),
    );
    answered += statuses.length;
  }
  assert.ok(answered > 6_000, `${answered} were answered`);
  const bytes = fc.array(fc.nat(255), { minLength: 1, maxLength: 40 });
  for (const codes of fc.sample(bytes, 1000)) await statusesOf(port, [String.fromCharCode(...codes)]);
  assert.equal((await fetch(await inspector.open())).status, 200);
  await inspector.close();
});
