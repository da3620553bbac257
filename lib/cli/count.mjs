// `pi-strata count`: exact cl100k tokens of files or standard input.

import { TextDecoder } from "node:util";
import counting from "../count.js";
import { readAll, UsageError } from "./session.mjs";
import { textTable, whole } from "./table.mjs";

/** Counts `paths` ("-" is standard input). A file that cannot be read is told in `problems`; the others are counted. */
export async function countFiles(paths) {
  const files = [];
  const problems = [];
  for (const file of paths) {
    try {
      files.push(await countFile(file));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(error.message);
    }
  }
  return { files, total: files.reduce((sum, { tokens }) => sum + tokens, 0), problems };
}

async function countFile(file) {
  const bytes = await readAll(file);
  let text;
  try {
    text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`Cannot count ${file}: it is too long for one string; split it.`);
  }
  return { file, bytes: bytes.length, tokens: counting.countTokens(text) };
}

/** The counts as a table; a total where there are several. */
export function countTable({ files, total }) {
  const rows = files.map(({ file, bytes, tokens }) => [file, whole(tokens), whole(bytes)]);
  if (files.length > 1) {
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    rows.push(["total", whole(total), whole(bytes)]);
  }
  return textTable(["file", "tokens", "bytes"], rows);
}
