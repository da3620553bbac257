// Loads a recorded session for the command-line tool, from a file or standard input.

import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import native from "../native.js";

/** A mistake of the user's, told in one sentence; the process ends with exit code 2. */
export class UsageError extends Error {}

const REASONS = {
  ENOENT: "there is no such file; check the path",
  EISDIR: "that is a folder; name a file in it",
  EACCES: "it may not be read; check its permissions",
};

/** `{ format, messages, problems }` of the session in `path`; "-" is standard input. */
export async function loadSession(path) {
  const bytes = await readAll(path);
  const name = path === "-" ? "standard input" : path;
  if (bytes.length === 0) throw new UsageError(`${name} is empty: a recorded session was expected.`);
  const { format, messages, problems } = await native.native().parseSession(bytes);
  const session = { format, messages: JSON.parse(messages), problems };
  if (session.messages.length === 0) {
    throw new UsageError(`${name} holds no messages: a pi session or a Claude Code transcript was expected.`);
  }
  return session;
}

/** The bytes of a file, or of standard input for "-"; a UsageError says why not. */
export async function readAll(path) {
  if (path === "-") return buffer(process.stdin);
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${REASONS[error.code] ?? error.message}.`);
  }
}
