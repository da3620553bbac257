// `pi-strata count`: exact tokens of files or standard input.

import fs from "node:fs";
import { TextDecoder } from "node:util";
import loading from "../tokens/load.js";
import models from "../tokens/models.js";
import counting from "../tools/count.js";
import { readAll, UsageError } from "./session.mjs";
import { printable, textTable, whole } from "./table.mjs";

/**
 * Counts `paths` ("-" is standard input) by the encoding of that name, of a model or of the file `tokenizer`. Files that cannot
 * be read are named in `problems`; the others are counted.
 */
export async function countFiles(paths, { encoding, model, tokenizer, pattern } = {}) {
  const choose = async () => {
    if (tokenizer === undefined) return models.encodingIn({ encoding, model });
    return loading.loadEncoding(tokenizer, { name: tokenizer, pattern });
  };
  const options = { encoding: await choose().catch(refuse) };
  const files = [];
  const problems = [];
  for (const file of paths) {
    try {
      files.push(await countFile(file, options));
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      problems.push(error.message);
    }
  }
  return { files, total: files.reduce((sum, { tokens }) => sum + tokens, 0), problems };
}

/** Expands patterns that the shell passed on. */
export function expand(names) {
  return names.flatMap((name) => {
    if (!/[*?[{]/.test(name) || fs.existsSync(name)) return [name];
    if (fs.globSync === undefined)
      throw new UsageError(
        `${printable(name)}: Node ${process.versions.node} takes file names only; patterns need Node 22.`,
      );
    const found = fs.globSync(name).filter((file) => fs.statSync(file).isFile());
    if (found.length > 0) return found.sort();
    throw new UsageError(`No file matches ${printable(name)}.`);
  });
}

/** The user can fix a wrong name or file, so it is a UsageError. */
function refuse(error) {
  throw new UsageError(error.message.replace("Name the encoding itself:", "--encoding names it itself:"));
}

async function countFile(file, options) {
  const bytes = await readAll(file);
  let text;
  try {
    text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`Cannot count ${printable(file)}: it is too long for one string; split it.`);
  }
  return { file, bytes: bytes.length, tokens: counting.countTokens(text, options) };
}

/** The counts as a table, with a total if there are several. */
export function countTable({ files, total }) {
  const rows = files.map(({ file, bytes, tokens }) => [printable(file), whole(tokens), whole(bytes)]);
  if (files.length > 1) {
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    rows.push(["total", whole(total), whole(bytes)]);
  }
  return textTable(["file", "tokens", "bytes"], rows);
}
