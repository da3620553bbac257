// The extension in every pi it says it works in: loaded by pi's own loader, called at each request of a real session. What
// was cut can be read back after a restart, on another branch and after a compaction, and pi summarises what the model saw.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { scriptedModel } from "../examples/scripted/model.mjs";
import { countTokens, validate } from "../index.js";
import { createExtension } from "../pi-extension/index.mjs";
import { codingAgents } from "./coding-agent/pi.mjs";
import { forEachPi } from "./support/each-pi.mjs";
import { CALLS, resultsIn, runSession, textOf } from "./support/pi-session.mjs";
import { ROOT } from "./support/root.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const folder = temporaryFolder("versions");
process.env.PI_CODING_AGENT_DIR = folder;
process.env.LC_ALL = "C";

const handlesIn = (messages) =>
  resultsIn(messages).flatMap((message) =>
    Array.from(textOf(message).matchAll(/handle: ([0-9a-f]{8})/g), ([, handle]) => handle),
  );
const everyCall = (options) => createExtension({ schedule: "everyCall", ...options });

/** The details and the content that the session's tool brings back. */
const recall = (session, handle) =>
  session.agent.state.tools.find(({ name }) => name === "recall").execute("call", { handle });

await forEachPi(async (version) => {
  const run = (extensions, options) => runSession(folder, extensions, { version, ...options });

  test(`pi ${version} finds it in the package, calls it at each request, and the model has recall`, async () => {
    const { session, sent, statuses, errors } = await run({ additionalExtensionPaths: [ROOT] });
    assert.deepEqual(errors, []);
    assert.equal(sent.length, CALLS + 1);
    assert.equal(resultsIn(sent.at(-1).messages).length, CALLS);
    assert.deepEqual(validate(sent.at(-1).messages, scriptedModel.api), []);
    for (const result of resultsIn(session.agent.state.messages))
      assert.ok(textOf(result).split("\n").length > 190, "the session keeps everything");
    assert.equal(statuses.length, CALLS + 1);
    assert.ok(statuses.every(([key, text]) => key === "pi-strata" && /^strata \d+k?( → \d+k?)?$/.test(text)));
    assert.ok(session.getActiveToolNames().includes("recall"));
  });

  test(`pi ${version}: every marker resolves after a restart, on every branch and after a compaction`, async () => {
    const file = (Manager) => Manager.create(folder, join(folder, `sessions-${version}`));
    const first = await run({ extensionFactories: [everyCall()] }, { sessionManager: file });
    assert.deepEqual(first.errors, []);
    const handles = handlesIn(first.sent.at(-1).messages);
    assert.ok(handles.length >= 4, `${handles.length} markers`);
    const manager = first.session.sessionManager;
    const path = manager.getSessionFile();
    const ids = manager.getBranch().map(({ id }) => id);
    const kept = resultsIn(first.session.agent.state.messages).map(textOf);
    const resumed = await run(
      { extensionFactories: [everyCall()] },
      { prompts: [], sessionManager: (Manager) => Manager.open(path) },
    );
    assert.deepEqual(resumed.errors, []);
    const reopened = resumed.session.sessionManager;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...ids),
        fc.boolean(),
        fc.constantFrom(...handles),
        async (id, isCompacted, handle) => {
          reopened.branch(id);
          if (isCompacted) reopened.appendCompaction("a summary", id, 1000);
          const { content, details } = await recall(resumed.session, handle);
          assert.equal(details.found, true, content[0].text);
          assert.ok(kept.some((text) => text.includes(content[0].text.split("\n").at(5))));
        },
      ),
      { numRuns: 60 },
    );
  });

  test(`pi ${version} summarises what the model saw, and keeps the same tail`, async () => {
    const compacted = async (extension) => {
      const seen = [];
      const spy = (pi) => {
        pi.on("session_before_compact", ({ preparation }) => {
          const { messagesToSummarize, turnPrefixMessages, firstKeptEntryId, tokensBefore } = preparation;
          seen.push({
            tokens: countTokens([...messagesToSummarize, ...turnPrefixMessages]),
            kept: firstKeptEntryId,
          });
          return { compaction: { summary: "a summary", firstKeptEntryId, tokensBefore } };
        });
      };
      const compact = (session) => session.compact();
      const sessionManager = (Manager) => Manager.inMemory(folder);
      const { session, errors } = await run(
        { extensionFactories: [...(extension ? [extension] : []), spy] },
        { prompts: ["go", compact], sessionManager, settings: { compaction: { keepRecentTokens: 3000 } } },
      );
      assert.deepEqual(errors, []);
      const branch = session.sessionManager.getBranch();
      const at = branch.findIndex(({ id }) => id === seen[0].kept);
      return { ...seen[0], at };
    };
    const [plain, ours] = [await compacted(), await compacted(everyCall())];
    assert.equal(ours.at, plain.at, "the kept tail begins where it did");
    assert.ok(ours.tokens < 0.6 * plain.tokens, `${ours.tokens} of ${plain.tokens}`);
  });

  test(`pi ${version}: a limit that the server names is learned from the first refusal`, async () => {
    const limit = 20_000;
    let refusals = 0;
    function* script(sent) {
      for (let n = 0; n < 60; ) {
        const { context } = sent().at(-1) ?? {};
        const tokens = JSON.stringify([context?.systemPrompt, context?.tools, context?.messages]).length / 4;
        if (tokens > limit) {
          refusals += 1;
          yield { errorMessage: `prompt is too long: ${Math.ceil(tokens)} tokens > ${limit} maximum` };
        } else {
          n += 1;
          const command = `for i in $(seq 150); do echo row $i of ${n}; done`;
          yield { calls: [{ name: "bash", arguments: { command } }] };
        }
      }
      yield { text: "done" };
    }
    const summarize = (pi) =>
      pi.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
        compaction: { summary: "a summary", firstKeptEntryId, tokensBefore },
      }));
    // pi before 0.87 tries again after the prompt has ended.
    const untilDone = async (session) => {
      const isDone = () => session.messages.at(-1).content[0]?.text === "done";
      for (let tries = 0; tries < 400 && !isDone(); tries += 1) await sleep(20);
    };
    const settings = { compaction: { keepRecentTokens: 3000 } };
    const { session, notices } = await run(
      { extensionFactories: [createExtension(), summarize] },
      { script, settings, prompts: ["go", untilDone, "/strata"] },
    );
    const summaries = session.sessionManager.getEntries().filter(({ type }) => type === "compaction");
    assert.deepEqual([refusals, summaries.length], [1, 1]);
    assert.match(notices.at(-1)[1], /as too long: its window counts as 20,000 tokens instead of 200,000/);
  });

  if (version !== "1.6.0") return;
  test(`pi ${version} keeps its system messages where they are, so that a change of tools costs no cache`, async () => {
    const change = (session) => session.setActiveToolsByName([...session.getActiveToolNames(), "grep"]);
    const compat = { supportsMidConvoSystemMessages: true, supportsMidConvoToolChanges: true };
    const model = { ...scriptedModel, compat };
    const extensions = { extensionFactories: [everyCall()] };
    const prompts = ["go", "/strata", change, "on", "/strata"];
    const { sent, errors, notices } = await run(extensions, { prompts, model });
    assert.deepEqual(errors, []);
    assert.ok(handlesIn(sent.at(-1).messages).length > 0);
    const isSystem = sent.at(-1).messages.map(({ role }) => role === "system");
    assert.deepEqual([isSystem.indexOf(true), isSystem.lastIndexOf(true)], [0, isSystem.length - 2]);
    for (const [, panel] of notices) assert.match(panel, /^prompt and tools +[\d,]+ *$/m);
  });
}, Object.keys(codingAgents));
