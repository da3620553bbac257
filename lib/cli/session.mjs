// Finds and opens recorded sessions for the command line.

import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { readLines } from "./recording/lines.mjs";
import { nameOf, reading, UsageError } from "./terminal.mjs";

/** Where pi and Claude Code keep their sessions. */
function homes({ PI_CODING_AGENT_SESSION_DIR, PI_CODING_AGENT_DIR, CLAUDE_CONFIG_DIR } = process.env) {
  const pi = PI_CODING_AGENT_SESSION_DIR || join(PI_CODING_AGENT_DIR || "~/.pi/agent", "sessions");
  const claude = join(CLAUDE_CONFIG_DIR || "~/.claude", "projects");
  return [pi, claude].map((folder) => folder.replace(/^~(?=$|[\\/])/, () => homedir()));
}
/** Claude Code's files of sub-agents and of typed commands, read only if a folder has no session. */
const BESIDE_SESSIONS = /^(?:agent-.*|history)\.jsonl$/;
/** Depth of the search below a folder: in `~/.pi` sessions are three folders down. */
const MAX_DEPTH = 3;

/** The session that a command names, and its path for printing. Names the lines that were skipped. */
export async function load([given]) {
  const found = await findSession(given);
  const session = await loadSession(found);
  for (const { line, message } of session.problems) console.error(`line ${line} skipped: ${message}`);
  return { path: nameOf(found), session };
}

/** The path of a session: the file itself, the newest in a folder, or, without a path, the newest of pi and Claude Code. */
async function findSession(path) {
  if (path === "-") return path;
  if (path !== undefined && !(await reading(path, stat(path))).isDirectory()) return path;
  const folders = path === undefined ? homes() : [path];
  const found = (await Promise.all(folders.map((folder) => sessionsIn(folder)))).flat();
  const [newest] = found.sort((a, b) => a.isBeside - b.isBeside || b.mtimeMs - a.mtimeMs);
  if (newest !== undefined) return newest.file;
  const where = folders.join(" or ");
  throw new UsageError(`There is no session (*.jsonl) in ${where}; name a file.`);
}

async function sessionsIn(folder, depth = 0) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = entries.map(async (entry) => {
    const file = join(folder, entry.name);
    if (entry.isDirectory()) return depth < MAX_DEPTH ? sessionsIn(file, depth + 1) : [];
    const { mtimeMs } = entry.name.endsWith(".jsonl") ? await stat(file).catch(() => ({})) : {};
    const isBeside = BESIDE_SESSIONS.test(entry.name);
    return mtimeMs === undefined ? [] : [{ file, mtimeMs, isBeside }];
  });
  return (await Promise.all(found)).flat();
}

/** The recording in the file at `path`; "-" is standard input. */
export async function loadSession(path) {
  const name = nameOf(path);
  const chunks = path === "-" ? process.stdin : createReadStream(path);
  const recording = await reading(name, readLines(chunks));
  if (recording.all.length > 0) return recording;
  if (chunks.bytesRead === 0) throw new UsageError(`${name} is empty: a recorded session was expected.`);
  const [problem] = recording.problems;
  const first = problem && ` Its first problem, in line ${problem.line}: ${problem.message}`;
  const expected = "a session of pi's or Claude Code's, or a JSON array of messages, was expected";
  throw new UsageError(`${name} holds no messages: ${expected}.${first ?? ""}`);
}
