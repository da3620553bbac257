// Opens recorded sessions for the command-line tool, and reads what is given on standard input.

import { readFile, stat } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import native from "../native/native.js";
import { Recording } from "./recording.mjs";

/** Larger files are refused: recorded sessions have some tens of MB at most. */
const MOST_BYTES = 256 * 1024 * 1024;

/** A mistake of the user's, told in one sentence; the process ends with exit code 2. */
export class UsageError extends Error {}

export const REASONS = {
  ENOENT: "there is no such file; check the path",
  EISDIR: "that is a folder; name a file in it",
  EACCES: "it may not be read; check its permissions",
};

/** The recording in the file at `path`; "-" is standard input. */
export async function loadSession(path) {
  const name = path === "-" ? "standard input" : path;
  if (path !== "-") refuseLarge(name, (await told(path, () => stat(path))).size);
  const file = await readAll(path);
  refuseLarge(name, file.length);
  if (file.length === 0) throw new UsageError(`${name} is empty: a recorded session was expected.`);
  const { messages, read } = JSON.parse(await native.native().readSession(file));
  const recording = new Recording({ messages, ...read });
  if (recording.length === 0) {
    throw new UsageError(`${name} holds no messages: a pi session or a Claude Code transcript was expected.`);
  }
  return recording;
}

/** The bytes of a file, or of standard input for "-"; a UsageError says why not. */
export async function readAll(path) {
  if (path === "-") return buffer(process.stdin);
  return told(path, () => readFile(path));
}

function refuseLarge(name, bytes) {
  if (bytes > MOST_BYTES)
    throw new UsageError(`Cannot read ${name}: it is larger than 256 MiB; a recorded session never is.`);
}

async function told(path, work) {
  try {
    return await work();
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${REASONS[error.code] ?? error.message}.`);
  }
}
