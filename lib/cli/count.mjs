// `pi-strata count`: exact tokens of files or standard input.

import fs from "node:fs";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { attempt } from "../helpers.js";
import { loadEncoding } from "../tokens/load.js";
import models from "../tokens/models.js";
import { countTokens } from "../tools/count.js";
import { whole } from "./numbers.mjs";
import { decoderOf } from "./recording/lines.mjs";
import { nameOf, reading, textTable, UsageError } from "./terminal.mjs";

export const count = {
  options: { encoding: String, model: String, tokenizer: String, pattern: String },
  takesFiles: true,
  /** Counts files, "-" or none for standard input. Names those that cannot be read, and counts the others. */
  async run({ positionals, ...wanted }) {
    const options = { encoding: await encodingOf(wanted) };
    const files = [];
    for (const name of positionals.length > 0 ? positionals : ["-"])
      for (const file of await tried(() => filesNamed(name)))
        files.push(...(await tried(async () => [await countFile(file, options)])));
    const sum = (kind) => files.reduce((total, file) => total + file[kind], 0);
    const all = { file: "total", tokens: sum("tokens"), bytes: sum("bytes") };
    const rows = files
      .concat(files.length > 1 ? all : [])
      .map(({ file, tokens, bytes }) => [file, whole(tokens), whole(bytes)]);
    const table = files.length > 0 ? textTable(["file", "tokens", "bytes"], rows) : undefined;
    return { document: { files, total: all.tokens }, text: table };
  },
};

/** Resolves with the list that `work` returns. Names a mistake that the user can fix, and resolves with an empty list. */
async function tried(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
    return [];
  }
}

/** The encoding of that name, of a model, or of a file. The user can fix a wrong one. */
async function encodingOf({ encoding, model, tokenizer, pattern }) {
  if (tokenizer !== undefined && (encoding ?? model) !== undefined)
    throw new UsageError("--tokenizer names the encoding itself; leave --encoding and --model out.");
  if (tokenizer === undefined && pattern !== undefined)
    throw new UsageError("--pattern needs --tokenizer, which names the tiktoken file to split by it.");
  try {
    if (tokenizer === undefined) return models.encodingIn({ encoding, model });
    return await loadEncoding(tokenizer, { name: tokenizer, pattern });
  } catch ({ message }) {
    throw new UsageError(message.replace("Name the encoding itself:", "--encoding names it itself:"));
  }
}

/** A name, or the files of a pattern that the shell passed on. */
function filesNamed(name) {
  if (!/[*?[{]/.test(name) || fs.existsSync(name)) return [name];
  if (fs.globSync === undefined)
    throw new UsageError(
      `${name}: Node ${process.versions.node} takes file names only; patterns need Node 22.`,
    );
  const found = fs.globSync(name).filter(canBeFile);
  if (found.length === 0) throw new UsageError(`No file matches ${name}.`);
  return found.sort();
}

/** True for a file, and for a path that cannot be looked at: reading it says why. */
const canBeFile = (path) => attempt(() => fs.statSync(path).isFile(), true);

async function countFile(file, options) {
  const read = (file === "-" ? buffer(process.stdin) : readFile(file)).then((bytes) => ({
    bytes: bytes.length,
    content: decoderOf(bytes, { ignoreBOM: true }).decode(bytes),
  }));
  const { bytes, content } = await reading(nameOf(file), read);
  return { file, bytes, tokens: countTokens(content, options) };
}
