// Finds and opens recorded sessions for the command line, and reads standard input.

import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { readLines } from "./recording/lines.mjs";
import { printable } from "./table.mjs";

/** A mistake that the user can fix, in one sentence; the process ends with exit code 2. */
export class UsageError extends Error {}

export const REASONS = {
  ENOENT: "there is no such file; check the path",
  EISDIR: "that is a folder; name a file in it",
  EACCES: "it may not be read; check its permissions",
};

/** Where pi and Claude Code keep their sessions. */
const HOMES = () => [
  join(process.env.PI_CODING_AGENT_DIR ?? join(homedir(), ".pi", "agent"), "sessions"),
  join(process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), ".claude"), "projects"),
];
const SESSION = /\.jsonl$/;
/** Depth of the search below a folder: pi and Claude Code keep one folder per project, and sub-agents' sessions below it. */
const MAX_DEPTH = 2;

/** The path of a session: the file itself, the newest in a folder, or, without a path, the newest of pi and Claude Code. */
export async function findSession(path) {
  if (path === "-") return path;
  if (path !== undefined && !(await told(path, () => stat(path))).isDirectory()) return path;
  const folders = path === undefined ? HOMES() : [path];
  const found = (await Promise.all(folders.map(sessionsIn))).flat();
  const [newest] = found.sort((a, b) => b.mtimeMs - a.mtimeMs);
  if (newest !== undefined) return newest.file;
  const where = folders.map(printable).join(" or ");
  throw new UsageError(`There is no session (*.jsonl) in ${where}; name a file.`);
}

async function sessionsIn(folder, depth = 0) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return depth < MAX_DEPTH ? sessionsIn(path, depth + 1) : [];
    if (!SESSION.test(entry.name)) return [];
    const { mtimeMs } = await stat(path).catch(() => ({}));
    return mtimeMs === undefined ? [] : [{ file: path, mtimeMs }];
  });
  return (await Promise.all(found)).flat();
}

/** The recording in the file at `path`; "-" is standard input. */
export async function loadSession(path) {
  const name = path === "-" ? "standard input" : printable(path);
  let bytes = 0;
  const counted = async function* (chunks) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      yield chunk;
    }
  };
  const chunks = path === "-" ? process.stdin : createReadStream(path);
  const recording = await told(path, () => readLines(counted(chunks)));
  if (bytes === 0) throw new UsageError(`${name} is empty: a recorded session was expected.`);
  if (recording.length > 0) return recording;
  const [problem] = recording.problems;
  const first =
    problem === undefined ? "" : ` Its first problem, in line ${problem.line}: ${problem.message}`;
  const expected = "a session of pi's or Claude Code's, or a JSON array of messages, was expected";
  throw new UsageError(`${name} holds no messages: ${expected}.${first}`);
}

/** The bytes of a file, or of standard input for "-". Rejects with a UsageError. */
export async function readAll(path) {
  if (path === "-") return buffer(process.stdin);
  return told(path, () => readFile(path));
}

async function told(path, work) {
  try {
    return await work();
  } catch (error) {
    throw new UsageError(`Cannot read ${printable(path)}: ${REASONS[error.code] ?? error.message}.`);
  }
}
