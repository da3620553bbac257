// Opens recorded sessions for the command-line tool, and reads what is given on standard input.

import { createReadStream, createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import native from "../native/native.js";
import { Recording } from "./recording.mjs";

/** A mistake of the user's, told in one sentence; the process ends with exit code 2. */
export class UsageError extends Error {}

export const REASONS = {
  ENOENT: "there is no such file; check the path",
  EISDIR: "that is a folder; name a file in it",
  EACCES: "it may not be read; check its permissions",
  ENOSPC: "there is no room on the disk",
};

/** The recording in the file at `path`; "-" is standard input. */
export async function loadSession(path) {
  const name = path === "-" ? "standard input" : path;
  const file = await told(path, () => seekable(path));
  const { size } = await told(path, () => stat(file));
  if (size === 0) throw new UsageError(`${name} is empty: a recorded session was expected.`);
  const { openSession } = native.native();
  const opened = await told(path, () => openSession(file));
  const message = (number) => opened.message(number);
  const recording = new Recording({ ...JSON.parse(opened.index()), message });
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

/** A file in which one can go back: what comes through a pipe is put into one that goes with the process. */
async function seekable(path) {
  if (path !== "-") {
    const found = await stat(path);
    if (found.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    if (found.isFile()) return path;
  }
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const file = join(folder, "session");
  await pipeline(path === "-" ? process.stdin : createReadStream(path), createWriteStream(file));
  return file;
}

async function told(path, work) {
  try {
    return await work();
  } catch (error) {
    throw new UsageError(`Cannot read ${path}: ${REASONS[error.code] ?? error.message}.`);
  }
}
