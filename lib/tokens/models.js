// The encodings of OpenAI's models, as tiktoken's own table (0.14) has them, and what to say of a name that is not in it.
"use strict";

/**
 * By encoding its families: a name is one of them, or one of them with `-` and anything after it. Of two that are as near
 * to a name that is none, the first is named. gpt2 is what r50k_base was called first.
 */
const FAMILIES = {
  o200k_base: ["gpt-5", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o", "o1", "o3", "o4-mini", "codex-mini"],
  o200k_harmony: ["gpt-oss"],
  cl100k_base: [
    "gpt-4",
    "gpt-3.5-turbo",
    "gpt-3.5",
    "gpt-35-turbo",
    "davinci-002",
    "babbage-002",
    "text-embedding-ada-002",
    "text-embedding-3-small",
    "text-embedding-3-large",
  ],
  p50k_base: [
    "text-davinci-003",
    "text-davinci-002",
    "code-davinci-002",
    "code-davinci-001",
    "code-cushman-002",
    "code-cushman-001",
    "davinci-codex",
    "cushman-codex",
  ],
  p50k_edit: ["text-davinci-edit-001", "code-davinci-edit-001"],
  r50k_base: [
    "text-davinci-001",
    "text-curie-001",
    "text-babbage-001",
    "text-ada-001",
    "davinci",
    "curie",
    "babbage",
    "ada",
    "text-similarity-davinci-001",
    "text-similarity-curie-001",
    "text-similarity-babbage-001",
    "text-similarity-ada-001",
    "text-search-davinci-doc-001",
    "text-search-curie-doc-001",
    "text-search-babbage-doc-001",
    "text-search-ada-doc-001",
    "code-search-babbage-code-001",
    "code-search-ada-code-001",
  ],
  gpt2: ["gpt2", "gpt-2"],
};

const ENCODINGS = Object.keys(FAMILIES);
/** Encodings that were loaded from files, by name: their numbers on the native side, and what `getEncoding` gives. */
const loaded = new Map();

const ENCODING_OF = new Map(
  Object.entries(FAMILIES).flatMap(([encoding, models]) => models.map((model) => [model, encoding])),
);

/** The encoding of a model, or undefined: `gpt-4o`, `gpt-4o-2024-08-06`, `openai/gpt-4o`, `ft:gpt-4o:us::id`. */
function encodingOf(model) {
  const family = familyOf(bare(String(model)));
  return family === undefined ? undefined : ENCODING_OF.get(family);
}

/** Without the vendor before it and what fine-tuning adds around it. */
function bare(model) {
  const name = model.trim().toLowerCase();
  const own = name.slice(name.lastIndexOf("/") + 1);
  return own.startsWith("ft:") ? own.split(":")[1] : own.split(":")[0];
}

/** The longest family a name belongs to. GPT-5 and its successors also go on with a dot: `gpt-5.1-codex`. */
function familyOf(name) {
  let best;
  for (const family of ENCODING_OF.keys()) {
    const rest = name.startsWith(family) ? name.slice(family.length) : undefined;
    const belongs = rest === "" || rest?.[0] === "-" || (family === "gpt-5" && rest?.[0] === ".");
    if (belongs && !(best?.length > family.length)) best = family;
  }
  return best;
}

/** The encoding of a model. */
function encodingForName(model) {
  const encoding = encodingOf(model);
  if (encoding !== undefined) return encoding;
  const near = nearest(bare(String(model)), [...ENCODING_OF.keys()]);
  throw new Error(
    `Unknown model ${shown(model)}: the nearest known is "${near}" (${ENCODING_OF.get(near)}). ` +
      `Name the encoding itself: ${ENCODINGS.join(", ")}`,
  );
}

/** Whether an option names an encoding, or is one. */
function isEncoding(value) {
  const name = nameOfEncoding(value);
  return ENCODINGS.includes(name) || loaded.has(name);
}

/** The name of an encoding that is given by name or as `getEncoding` or `loadEncoding` gave it. */
function nameOfEncoding(value) {
  return typeof value === "object" && value !== null ? value.name : value;
}

/** The name of an encoding, checked. */
function checkEncoding(value) {
  if (isEncoding(value)) return nameOfEncoding(value);
  const name = nameOfEncoding(value);
  throw new RangeError(
    `Unknown encoding ${shown(name)}: the nearest known is "${nearest(String(name), knownNames())}". ` +
      `There are ${knownNames().join(", ")}`,
  );
}

function knownNames() {
  return [...ENCODINGS, ...loaded.keys()];
}

/** A value as errors show it. */
function shown(value) {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 60)) : String(value);
}

function nearest(name, known) {
  const distances = known.map((candidate) => [distance(name.slice(0, 60), candidate), candidate]);
  return distances.reduce((best, next) => (next[0] < best[0] ? next : best))[1];
}

/** Letters to change, add or leave out to come from one name to the other. */
function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let at = 0; at < from.length; at += 1) {
    const next = [at + 1];
    for (let other = 0; other < to.length; other += 1) {
      const swap = row[other] + (from[at] === to[other] ? 0 : 1);
      next.push(Math.min(swap, row[other + 1] + 1, next[other] + 1));
    }
    row = next;
  }
  return row[to.length];
}

/** The encoding options ask for, by name or by model; cl100k_base where they say nothing. */
function encodingIn({ encoding, model } = {}) {
  if (encoding !== undefined) return checkEncoding(encoding);
  return model === undefined ? "cl100k_base" : encodingForName(model);
}

module.exports = {
  ENCODINGS,
  checkEncoding,
  encodingForName,
  encodingIn,
  encodingOf,
  isEncoding,
  knownNames,
  loaded,
  nameOfEncoding,
  shown,
};
