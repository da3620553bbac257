// Large recorded sessions: the replay has room for one in a small heap, and refuses a line that fits into no string.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, openSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CLI, folder } from "./support/cli.mjs";
import { answer, call, result } from "./support/messages.mjs";

const RESULTS = 100;
const RESULT_BYTES = 1_000_000;
/** V8's heap for the file's 100 MB of messages and whatever else the replay wants. */
const HEAP_MB = 256;
/** More than the longest string of JavaScript holds. */
const HUGE_BYTES = 2 ** 30;

/** A pi session of one question and results of a megabyte each; no line of them is like another. */
function writeLargeSession(path) {
  const file = openSync(path, "w");
  const write = (entry) => writeSync(file, `${JSON.stringify(entry)}\n`);
  const message = (fields) => write({ type: "message", message: fields });
  write({ type: "session", id: "s" });
  message({ role: "user", content: "go", timestamp: 1 });
  let line = 0;
  for (let i = 0; i < RESULTS; i += 1) {
    const id = `c${i}`;
    message(answer([call(id, { arguments: { path: id } })]));
    const lines = [];
    for (let size = 0; size < RESULT_BYTES; size += 80) {
      line += 1;
      lines.push(`${line} the quick brown fox jumps over the lazy dog, again and again, all day`.padEnd(79));
    }
    message(result(id, lines.join("\n")));
  }
  closeSync(file);
}

test("a large session is replayed in little more room than its messages take", () => {
  const path = join(folder, "large.jsonl");
  writeLargeSession(path);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [`--max-old-space-size=${HEAP_MB}`, CLI, "replay", "--every", "100", path],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`^model calls +${RESULTS}$`, "m"));
});

test("a line that is longer than any string is refused", () => {
  const path = join(folder, "huge.jsonl");
  closeSync(openSync(path, "w"));
  // A hole of zeros, without an end of line.
  truncateSync(path, HUGE_BYTES);
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, "replay", path], { encoding: "utf8" });
  assert.equal(status, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /^Cannot read .+: Invalid string length\.\n$/);
});
