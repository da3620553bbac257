// Finds and opens recorded sessions for the command line.

import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { readLines } from "./recording/lines.mjs";
import { nameOf, printable, reading, UsageError } from "./terminal.mjs";

/** Where pi and Claude Code keep their sessions. */
const HOMES = () => [
  join(process.env.PI_CODING_AGENT_DIR ?? join(homedir(), ".pi", "agent"), "sessions"),
  join(process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), ".claude"), "projects"),
];
/** Names of session files. */
const SESSION = /\.jsonl$/;
/** Names of session files, without those of sub-agents. Claude Code keeps both kinds in one place. */
const MAIN_SESSION = /^(?!agent-).*\.jsonl$/;
/** Depth of the search below a folder: pi and Claude Code keep one folder per project, and sub-agents' sessions below it. */
const MAX_DEPTH = 2;

/** The session that a command names, its path for printing, and the fields common to all documents. */
export async function load([given]) {
  const found = await findSession(given);
  const session = await loadSession(found);
  const path = found === "-" ? nameOf(found) : found;
  const { format, problems, unplayed } = session;
  for (const { line, message } of problems) console.error(`line ${line} skipped: ${message}`);
  return { path, session, told: { session: path, format, problems, unplayed } };
}

/**
 * The path of a session: the file itself, the newest in a folder, or, without a path, the newest of pi and Claude Code that is no
 * sub-agent's.
 */
async function findSession(path) {
  if (path === "-") return path;
  if (path !== undefined && !(await reading(path, stat(path))).isDirectory()) return path;
  const [folders, names] = path === undefined ? [HOMES(), MAIN_SESSION] : [[path], SESSION];
  const found = (await Promise.all(folders.map((folder) => sessionsIn(folder, names)))).flat();
  const [newest] = found.sort((a, b) => b.mtimeMs - a.mtimeMs);
  if (newest !== undefined) return newest.file;
  const where = folders.map(printable).join(" or ");
  throw new UsageError(`There is no session (*.jsonl) in ${where}; name a file.`);
}

async function sessionsIn(folder, names, depth = 0) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = entries.map(async (entry) => {
    const file = join(folder, entry.name);
    if (entry.isDirectory()) return depth < MAX_DEPTH ? sessionsIn(file, names, depth + 1) : [];
    const { mtimeMs } = names.test(entry.name) ? await stat(file).catch(() => ({})) : {};
    return mtimeMs === undefined ? [] : [{ file, mtimeMs }];
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
