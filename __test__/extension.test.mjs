// The extension inside the real pi coding agent: found through the package's manifest as pi finds it, loaded by pi's
// loader, called at each request of a real session with pi's own deep copies. Only the model is a script.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createScriptedModel, scriptedModel } from "../examples/scripted/model.mjs";
import { validate } from "../index.js";
import { createExtension, statusLine } from "../pi-extension/index.mjs";
import {
  AuthStorage,
  createAgentSession,
  DefaultResourceLoader,
  ModelRegistry,
  SessionManager,
  SettingsManager,
} from "./coding-agent/pi.mjs";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pi-strata-extension-"));
after(() => rmSync(folder, { recursive: true }));

const CALLS = 10;
const LONG = "for i in $(seq 200); do echo line $i of a long result; done";

function* script() {
  for (let i = 0; i < CALLS; i += 1) {
    yield { thinking: `step ${i}`, calls: [{ name: "bash", arguments: { command: `: ${i}; ${LONG}` } }] };
  }
  yield { text: "done" };
}

/** A session of pi over the script, with these extensions; what the model was sent and what the status line showed. */
async function runSession(extensions) {
  const settingsManager = SettingsManager.inMemory();
  const authStorage = AuthStorage.inMemory({ anthropic: { type: "api_key", key: "none" } });
  const resourceLoader = new DefaultResourceLoader({
    cwd: folder,
    agentDir: folder,
    settingsManager,
    noExtensions: true,
    ...extensions,
  });
  await resourceLoader.reload();
  const { session, extensionsResult } = await createAgentSession({
    cwd: folder,
    agentDir: folder,
    authStorage,
    modelRegistry: ModelRegistry.inMemory(authStorage),
    model: scriptedModel,
    sessionManager: SessionManager.inMemory(folder),
    settingsManager,
    resourceLoader,
  });
  assert.deepEqual(extensionsResult.errors, []);
  const model = createScriptedModel(script());
  session.agent.streamFn = model.streamFn;
  const statuses = [];
  const errors = [];
  await session.bindExtensions({
    uiContext: { setStatus: (key, text) => statuses.push([key, text]), notify() {}, theme: {} },
    onError: (error) => errors.push(error),
  });
  await session.prompt("go");
  assert.deepEqual(errors, []);
  return { session, sent: model.sent, statuses };
}

const textOf = (message) => message.content.map((block) => block.text ?? "").join("");
const resultsIn = (messages) => messages.filter((message) => message.role === "toolResult");

test("pi finds it in the package, calls it at each request and shows its line", async () => {
  const { session, sent, statuses } = await runSession({ additionalExtensionPaths: [PACKAGE] });
  assert.equal(sent.length, CALLS + 1);
  const last = sent.at(-1).messages;
  assert.equal(resultsIn(last).length, CALLS);
  const kept = resultsIn(session.agent.state.messages).map(textOf);
  assert.ok(
    kept.every((text) => text.split("\n").length > 190),
    "the session keeps everything",
  );
  assert.deepEqual(validate(last, scriptedModel.api), []);
  assert.equal(statuses.length, CALLS + 1);
  assert.ok(statuses.every(([key, text]) => key === "pi-strata" && text.startsWith("strata ")));
});

test("its options are the hook's, and its window the model's", async () => {
  const events = [];
  const extension = createExtension({ schedule: "everyCall", marker: "en", onEvent: (e) => events.push(e) });
  const { session, sent, statuses } = await runSession({ extensionFactories: [extension] });
  const last = resultsIn(sent.at(-1).messages).map(textOf);
  const kept = resultsIn(session.agent.state.messages).map(textOf);
  assert.ok(last.slice(0, -6).every((text) => /^\[\.\.\. \d+ lines omitted/m.test(text)));
  assert.deepEqual(last.slice(-6), kept.slice(-6));
  assert.match(statuses.at(-1)[1], /^strata \d+k? → \d+k? \(−\d+ %\)$/);
  const transformed = events.filter(({ type }) => type === "transformed");
  assert.equal(transformed.length, CALLS + 1);
  assert.ok(events.every(({ type }) => type !== "failed"));
});

test("the status line is short, and says when nothing works", () => {
  const line = (tokensBefore, tokensAfter) => statusLine({ type: "transformed", tokensBefore, tokensAfter });
  assert.equal(line(142_300, 61_000), "strata 142k → 61k (−57 %)");
  assert.equal(line(900, 900), "strata 900");
  assert.equal(line(0, 0), "strata 0");
  assert.equal(
    statusLine({ type: "failed", code: "ERR_NATIVE_UNAVAILABLE" }),
    "strata off: ERR_NATIVE_UNAVAILABLE",
  );
});
