// Finds the encoding of a model or of a name, and says what is near to a name that is none.
"use strict";

const { TABLE } = require("./encodings.js");

const ENCODINGS = Object.keys(TABLE);
/** Encodings that were loaded from files, by name: their numbers on the native side, and what `getEncoding` gives. */
const loaded = new Map();

const ENCODING_OF = new Map(
  Object.entries(TABLE).flatMap(([encoding, { models }]) => models.map((model) => [model, encoding])),
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

/** True if an option names an encoding, or is one. */
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
