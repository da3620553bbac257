// Files and edits as no one writes them: whatever comes in, what is sent stays valid, word for word, and the same after a
// restart.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext, validate } from "../index.js";
import { agentSession, textOf } from "./support/agent-session.mjs";

const OPTIONS = { schedule: "sticky", cache: { ttlSeconds: 1 }, economy: 20, maxPromptTokens: 6_000 };

const file = (count, end = "\n", mark = "") =>
  Array.from({ length: count }, (_, i) => `const value${mark}_${i} = compute(${i});`).join(end);
const idle = (count) =>
  Array.from({ length: count }, (_, i) => ["bash", { command: `run ${i}` }, `done ${i}\n`.repeat(80)]);

/** Every call of the session, by one hook and by a new one each time; what the last call sent. */
async function play(messages) {
  const hook = createTransformContext(OPTIONS);
  let sent;
  for (let end = 1; end <= messages.length; end += 2) {
    const list = messages.slice(0, end);
    sent = await hook(list);
    assert.deepEqual(validate(sent, "anthropic-messages"), []);
  }
  assert.deepEqual(await createTransformContext(OPTIONS)(messages.slice(0, messages.length)), sent);
  for (const message of sent.filter(({ role }) => role === "toolResult")) {
    const original = messages.find(({ toolCallId }) => toolCallId === message.toolCallId);
    const lines = new Set(textOf(original).split("\n"));
    const foreign = textOf(message)
      .split("\n")
      .filter((line) => !lines.has(line) && !line.startsWith("[... 已省略") && !line.includes("…"));
    assert.deepEqual(foreign, [], "no line that was not there");
  }
  return sent;
}

const edit = (path, oldText, newText) => ["edit", { path, oldText, newText }, "ok"];

const CASES = {
  "a file of one line": [["read", { path: "a.min.js" }, "x=1;".repeat(40_000)], ...idle(20)],
  "a file of a hundred thousand lines": [["read", { path: "big.js" }, file(100_000)], ...idle(12)],
  CRLF: [
    ["read", { path: "a.js" }, file(400, "\r\n")],
    edit("a.js", "const value_7 = compute(7);\r\nconst value_8 = compute(8);", "const seven = 7;"),
    ...idle(20),
  ],
  "edits that never matched": [
    ["read", { path: "a.js" }, file(300)],
    ...Array.from({ length: 10 }, (_, i) => edit("a.js", `nothing like this is there ${i}`, `new ${i}`)),
    ...idle(20),
  ],
  "one path in three spellings": [
    ["read", { path: "./src/a.js" }, file(200)],
    edit("src/a.js", "const value_3 = compute(3);", "const three = compute(3);"),
    ["read", { path: "/home/me/src/a.js" }, file(200, "\n", "x")],
    ...idle(20),
  ],
  renames: [
    ["read", { path: "a.js" }, file(200)],
    ["bash", { command: "git mv a.js b.js && mv b.js c/" }, ""],
    edit("c/b.js", "const value_3 = compute(3);", "const three = compute(3);"),
    ["bash", { command: "mv c/b.js c/b.js" }, ""],
    ...idle(20),
  ],
  "arguments that name a file in every odd way": [
    ["edit", { path: "", oldText: 7, newText: null }, "x"],
    ["edit", { path: ["a"], edits: "none" }, "x"],
    ["edit", { path: "a.js", edits: [null, 3, { oldText: "const value_3 = compute(3);" }] }, file(300)],
    ["bash", { command: "cat 'unclosed" }, file(300)],
    ["bash", { command: "*** Begin Patch\n*** Update File: \n-x\n*** End Patch" }, file(300)],
    ...idle(20),
  ],
};

for (const [name, steps] of Object.entries(CASES)) {
  test(`${name}: valid, word for word, the same after a restart`, async () => {
    const sent = await play(agentSession(steps));
    assert.ok(
      JSON.stringify(sent).length < 0.95 * JSON.stringify(agentSession(steps)).length,
      "something went",
    );
  });
}
