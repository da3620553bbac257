// What the measure calls a blind edit, and the text of a result that was cut by line.

import assert from "node:assert/strict";
import { test } from "node:test";
import { measure, ratesOf } from "../bench/economy/measure.mjs";
import { estimatesBy, recordingOf } from "../bench/recordings.mjs";
import keptLines from "../lib/hook/markers.js";

const CODE = "const answer = compute(41);\nconst other = compute(7);";
const assistant = (args, at) => ({
  role: "assistant",
  content: [{ type: "toolCall", id: `c${at}`, name: "tool", arguments: args }],
  usage: { input: 10, output: 1, cacheRead: 0, cacheWrite: 0 },
  timestamp: at,
});
const result = (text, at) => ({
  role: "toolResult",
  toolCallId: `c${at}`,
  toolName: "tool",
  content: [{ type: "text", text }],
  timestamp: at,
});
const session = (shown, edit) => [
  { role: "user", content: "fix it", timestamp: 0 },
  assistant({ path: "a.js" }, 1),
  result(shown, 1),
  assistant(edit, 2),
  result("done", 2),
];

const keep = async (messages) => messages;
const forget = async (messages) =>
  messages.map((message) =>
    message.role === "toolResult" ? { ...message, content: [{ type: "text", text: "gone" }] } : message,
  );
const scoreOf = async (messages, policy) => {
  const [recording, contextWindow] = [recordingOf(messages), 200_000];
  const estimates = await estimatesBy(recording, { contextWindow });
  return measure(recording, policy, { contextWindow, estimates });
};
const blind = async (messages, policy) => {
  const { edits, blindEdits } = await scoreOf(messages, policy);
  return `${blindEdits} of ${edits}`;
};

const EDITS = [
  { path: "a.js", oldText: "  const answer = compute(41);", newText: "const answer = 42;" },
  { file_path: "a.js", edits: [{ old_string: "const other = compute(7);", new_string: "" }] },
  { input: "*** Begin Patch\n*** Update File: a.js\n-const answer = compute(41);\n+x\n*** End Patch" },
  { TargetFile: "a.js", TargetContent: "const other = compute(7);", ReplacementContent: "x" },
  { path: "a.js", diff: "<<<<<<< SEARCH\nconst answer = compute(41);\n=======\nx\n>>>>>>> REPLACE" },
  { path: "a.js", diff: "------- SEARCH\nconst other = compute(7);\n=======\nx\n+++++++ REPLACE" },
];

test("an edit is blind if it quotes a line that occurred and is shown no more", async () => {
  for (const edit of EDITS) {
    assert.equal(await blind(session(CODE, edit), keep), "0 of 1");
    assert.equal(await blind(session(CODE, edit), forget), "1 of 1");
  }
});

test("line numbers before a line do not make it another", async () => {
  const numbered = CODE.replace(/^/gm, "   37→");
  assert.equal(await blind(session(numbered, EDITS[0]), keep), "0 of 1");
  assert.equal(await blind(session(numbered, EDITS[0]), forget), "1 of 1");
});

test("what never occurred and what is too short to matter cannot be lost", async () => {
  assert.equal(await blind(session("something else", EDITS[0]), forget), "0 of 1");
  assert.equal(
    await blind(session("return x;", { path: "a", oldText: "return x;", newText: "" }), forget),
    "0 of 0",
  );
});

test("a blind edit costs one more call", async () => {
  const score = await scoreOf(session(CODE, EDITS[0]), forget);
  const { dollars, rereadDollars } = score;
  assert.ok(rereadDollars > 0);
  assert.equal(
    ratesOf(score).dollarsWithRereads,
    Math.max(dollars.prefix, dollars.breakpoint) + rereadDollars,
  );
});

test("kept lines stand word for word and in order, a marker for each gap", () => {
  const text = "a\nb\nc\nd\ne\nf\n";
  const marked = (ranges) =>
    keptLines.keptLines(text, ranges, (gaps, chars) => gaps.map((count) => `[${count}/${chars}]`));
  assert.equal(marked([[1, 3]]), "[1/12]\nb\nc\n[3/12]");
  assert.equal(
    marked([
      [0, 1],
      [5, 6],
    ]),
    "a\n[4/12]\nf",
  );
  assert.equal(marked([]), "[6/12]");
});
