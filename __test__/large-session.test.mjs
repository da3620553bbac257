// A recorded session much larger than what the replay may take of memory.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../bin/pi-strata.js", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pi-strata-large-"));
after(() => rmSync(folder, { recursive: true }));

const RESULTS = 320;
const RESULT_BYTES = 1_000_000;
/** What the replay of a file of any size may take. */
const MOST_BYTES = 300_000_000;

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
    message({
      role: "assistant",
      content: [{ type: "toolCall", id, name: "read", arguments: { path: id } }],
    });
    const lines = [];
    for (let size = 0; size < RESULT_BYTES; size += 80) {
      line += 1;
      lines.push(`${line} the quick brown fox jumps over the lazy dog, again and again, all day`.padEnd(79));
    }
    message({
      role: "toolResult",
      toolCallId: id,
      toolName: "read",
      content: [{ type: "text", text: lines.join("\n") }],
    });
  }
  closeSync(file);
}

test("a session larger than the memory it may take is read message by message", () => {
  const path = join(folder, "large.jsonl");
  writeLargeSession(path);
  const report = join(folder, "peak.cjs");
  const fd = openSync(report, "w");
  writeSync(fd, 'process.on("exit", () => console.error(process.resourceUsage().maxRSS * 1024));');
  closeSync(fd);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--require", report, CLI, "replay", "--every", "100", path],
    { encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  assert.match(stdout, new RegExp(`^model calls +${RESULTS}$`, "m"));
  const peak = Number(stderr);
  assert.ok(peak < MOST_BYTES, `${Math.round(peak / 1e6)} MB for ${(RESULTS * RESULT_BYTES) / 1e6} MB`);
});
