// Finds the encoding of a model, of a transcript or of a name, and says what is near to a name that is none.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");
const { native } = require("../native/native.js");
const { nearest, showUpTo } = require("../options.js");
const { TABLE } = require("./encodings.js");

const ENCODINGS = Object.keys(TABLE);
/** Of a name that is none, so many UTF-16 units are compared and shown. */
const NAME_UNITS = 60;
/** By name, loaded ones too: the number by which the native side knows an encoding, once it was asked. */
const numbers = new Map(ENCODINGS.map((name) => [name, undefined]));

const ENCODING_OF = new Map(
  Object.entries(TABLE).flatMap(([encoding, { models }]) => models.map((model) => [model, encoding])),
);

/** Of two families that a name belongs to, the longer one stands first. */
const FAMILIES = [...ENCODING_OF.keys()].sort((a, b) => b.length - a.length);

/** OpenAI's models that are newer than the table count by o200k_base: `gpt-5.1-codex`, `gpt-6`, `gpt-realtime`, `o4`. */
const NEWER = /^(gpt-([5-9]|\d\d)(\.\d+)?|gpt-(realtime|audio|live)|o\d+)(-|$)/;

/** The encoding of a model, or undefined: `gpt-4o`, `gpt-4o-2024-08-06`, `openai/gpt-4o`, `ft:gpt-4o:us::id`. */
function encodingOf(model) {
  const name = bare(String(model));
  const family = FAMILIES.find((family) => name === family || name.startsWith(`${family}-`));
  return ENCODING_OF.get(family) ?? (NEWER.test(name) ? "o200k_base" : undefined);
}

/** Without the vendor before it and what fine-tuning adds around it. */
function bare(model) {
  const name = model.trim().toLowerCase();
  const own = name.slice(name.lastIndexOf("/") + 1);
  return own.startsWith("ft:") ? own.split(":")[1] : own.split(":")[0];
}

/** The encoding of a model. */
function encodingForName(model) {
  const encoding = encodingOf(model);
  if (encoding !== undefined) return encoding;
  const near = nearest(bare(String(model)), [...ENCODING_OF.keys()]);
  throw new Error(
    `Unknown model ${showUpTo(NAME_UNITS, model)}: the nearest known is "${near}" (${ENCODING_OF.get(near)}). ` +
      `Name the encoding itself: ${ENCODINGS.join(", ")}`,
  );
}

/** True if an option names an encoding, or is one. */
function isEncoding(value) {
  return numbers.has(nameOfEncoding(value));
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
    `Unknown encoding ${showUpTo(NAME_UNITS, name)}: the nearest known is "${nearest(String(name), knownNames())}". ` +
      `There are ${knownNames().join(", ")}`,
  );
}

function knownNames() {
  return [...numbers.keys()];
}

/** The number by which the native side knows an encoding. */
function numberOf(encoding) {
  const known = numbers.get(encoding);
  if (known !== undefined) return known;
  const number = native().encodingNumber(encoding);
  numbers.set(encoding, number);
  return number;
}

/** The encoding options ask for, by name or by model; cl100k_base where they say nothing. */
function encodingIn({ encoding, model } = {}) {
  if (encoding !== undefined) return checkEncoding(encoding);
  return model === undefined ? "cl100k_base" : encodingForName(model);
}

/**
 * The encoding asked for; for "auto" that of the model which answered first: what was counted stays so when another one
 * goes on, and what that one counts otherwise is learned. Undefined is cl100k_base: for models that are not OpenAI's, before
 * the first answer, and where no one asks.
 */
function encodingOfTranscript(wanted, messages) {
  if (wanted !== "auto") return nameOfEncoding(wanted);
  for (const message of messages) {
    const model = modelOf(message);
    if (model !== undefined) return encodingOf(model);
  }
  return undefined;
}

/** The model of an answer; nothing of one that failed, or of what cannot be looked at. */
function modelOf(message) {
  try {
    if (message?.role !== "assistant" || UNSENT_STOP_REASONS.has(message.stopReason)) return undefined;
    return typeof message.model === "string" ? message.model : undefined;
  } catch {
    return undefined;
  }
}

module.exports = {
  ENCODINGS,
  checkEncoding,
  encodingForName,
  encodingIn,
  encodingOfTranscript,
  isEncoding,
  knownNames,
  numberOf,
  numbers,
};
