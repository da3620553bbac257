// A hook that has seen a transcript before: it answers as one that has not, whatever was changed in place since, and
// whoever else called in between.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext } from "../index.js";
import { conversation, dice } from "./support/transcripts.mjs";

const WINDOWS = [4000, 8000];
const options = { reserveTokens: 200, keepRecentMessages: 4, keepRecentToolResults: 2 };

/** What a host may do to a message it handed in before. */
const CHANGES = [
  (message) => {
    message.content = [{ type: "text", text: "other content, in a new list" }];
  },
  ({ content }) => {
    if (Array.isArray(content)) content.push({ type: "text", text: "one more block ".repeat(80) });
  },
  ({ content }) => {
    const last = Array.isArray(content) ? content.at(-1) : undefined;
    if (last?.type === "text") last.text = "other text\n".repeat(200);
  },
  ({ content }) => {
    if (Array.isArray(content) && content.length > 0) content[0] = { type: "text", text: "another block" };
  },
  (message) => {
    if (message.role === "assistant") message.stopReason = "error";
  },
  ...["summary", "command", "output", "toolCallId", "toolName"].map((field) => (message) => {
    if (field in message) message[field] = `another ${field} `.repeat(90);
  }),
  ...["id", "name"].map((field) => ({ content }) => {
    const call = Array.isArray(content) ? content.find(({ type }) => type === "toolCall") : undefined;
    if (call !== undefined) call[field] = `another ${field}`;
  }),
  ({ usage }) => {
    if (usage !== undefined) usage.cacheRead += 9000;
  },
];

/**
 * Of a list that was rewritten, or under another window, a hook knows what was really sent and reported: another one cannot.
 * Without calibration everyCall goes by the list alone.
 */
const onlyGrows = (schedule) => schedule === "sticky";
const ownOptions = (schedule) => ({ ...options, schedule, calibrate: onlyGrows(schedule) });

/** How hosts hand in their list: as it is, or copies of everything, of the messages alone, of what JSON says. */
const VIEWS = [
  (messages) => messages,
  structuredClone,
  (messages) => messages.map((message) => ({ ...message })),
  (messages) => JSON.parse(JSON.stringify(messages)),
];

for (const schedule of ["everyCall", "sticky"]) {
  const changes = onlyGrows(schedule) ? "grown" : "changed in place, grown, cut back, under another window";
  test(`${schedule}: as a new hook answers, with a list that is ${changes}`, async () => {
    const roll = dice(schedule.length);
    for (let seed = 0; seed < 20; seed += 1) {
      const view = VIEWS[seed % VIEWS.length];
      let contextWindow = WINDOWS[0];
      const hook = createTransformContext({ ...ownOptions(schedule), contextWindow: () => contextWindow });
      const all = structuredClone(conversation(seed, { length: 200 }));
      let live = all.slice(0, onlyGrows(schedule) ? 40 : 120);
      const steps = [
        () => CHANGES[roll(CHANGES.length)](live[roll(live.length)]),
        () => {
          live = all.slice(0, 40 + roll(160));
        },
        () => {
          contextWindow = WINDOWS[roll(WINDOWS.length)];
        },
        () => {
          live = all.slice(0, Math.max(live.length, 40 + roll(160)));
        },
        () => hook(structuredClone(conversation(seed + 100, { length: 50 }))),
      ];
      for (let call = 0; call < 30; call += 1) {
        const at = onlyGrows(schedule) ? 3 + roll(3) : roll(6);
        await steps[at]?.();
        // Now and then it calls twice at once, and goes away from one of the calls.
        const controller = new AbortController();
        const aside = roll(9) === 0 ? hook(view(live), controller.signal) : undefined;
        const pending = hook(view(live));
        controller.abort();
        await aside;
        const fresh = await createTransformContext({ ...ownOptions(schedule), contextWindow })(view(live));
        assert.deepEqual(await pending, fresh);
      }
    }
  });
}

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: changed in place far back in a long conversation`, async () => {
    const own = { schedule, contextWindow: 600_000, economy: 1000 };
    for (let seed = 0; seed < 4; seed += 1) {
      const hook = createTransformContext(own);
      const live = structuredClone(conversation(seed, { length: 2000 }));
      const edited = (await hook(live)).find(
        ({ role }, at, sent) => role === "toolResult" && !live.includes(sent[at]),
      );
      const changed = live.find(({ toolCallId }) => toolCallId === edited.toolCallId);
      assert.ok(live.indexOf(changed) < 1400, `seed ${seed} edits nothing far back`);
      changed.content = [{ type: "text", text: "changed in place, far back\n".repeat(400) }];
      const after = (await hook(live)).filter(({ toolCallId }) => toolCallId === changed.toolCallId);
      // Sticky leaves a marker line that tells of the new text: 400 lines of 27 characters.
      for (const { content } of after) assert.match(content[0].text, /^changed in place|10800/);
      const again = await hook(live);
      // Sticky leaves the beginning as it was sent; another hook may decide otherwise about it.
      if (schedule === "everyCall") assert.deepEqual(again, await createTransformContext(own)(live));
    }
  });

  test(`${schedule}: what is sent whole and changed far back is noticed within a few calls`, async () => {
    let told;
    const onEvent = ({ tokensBefore = told }) => {
      told = tokensBefore;
    };
    const own = { schedule, contextWindow: 4_000_000, onEvent };
    const hook = createTransformContext(own);
    const live = structuredClone(conversation(7, { length: 2000 }));
    const sent = new Set(await hook(live));
    const changed = live.findIndex((message, at) => at > 100 && message.role === "user" && sent.has(message));
    live[changed].content = "changed in place, far back ".repeat(400);
    const calls = Math.ceil(live.length / 64);
    for (let call = 0; call < calls; call += 1) await hook(live);
    const noticed = told;
    await createTransformContext(own)(live);
    assert.equal(noticed, told);
  });
}

test("each call has an array of its own with the host's objects, and an own object is edited once", async () => {
  const hook = createTransformContext({ ...options, contextWindow: WINDOWS[0], schedule: "everyCall" });
  const messages = conversation(3, { length: 200 });
  const first = await hook(messages);
  const copied = first.filter((message) => !messages.includes(message));
  assert.ok(copied.length > 0);
  const again = await hook(messages);
  assert.ok(again.every((message, at) => message === first[at]));
  // The host's to change.
  again.length = 0;
  for (const list of [structuredClone(messages), messages]) {
    const sent = await hook(list);
    assert.deepEqual(sent, first);
    for (const [at, message] of first.entries()) {
      const given = messages.indexOf(message);
      if (given >= 0) assert.equal(sent[at], list[given]);
    }
  }
});

test("what a host of copies writes into a request is in no later one", async () => {
  const hook = createTransformContext({ contextWindow: 100_000, schedule: "everyCall" });
  const messages = conversation(1, { length: 100 });
  for (let call = 0; call < 3; call += 1) {
    const copies = structuredClone(messages);
    const sent = await hook(copies);
    assert.doesNotMatch(JSON.stringify(sent), /noted/);
    for (const { content } of sent.filter((message) => !copies.includes(message)))
      for (const block of content) block.text = `noted ${block.text}`;
  }
});
