// The encodings that are compiled in, and the encoding of a model, of a transcript or of a name. For an unknown name errors name
// the nearest. The vocabularies are in the native engine.
"use strict";

const { attempt } = require("../helpers.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const { native } = require("../native/native.js");
const { nearest, showUpTo } = require("../options.js");

/**
 * By name of the encoding:
 * - `models`: families of models, as in tiktoken's own table (0.14). A model is a family, alone or followed by `-` and more.
 *   Of two families that are equally near to an unknown name, errors name the first;
 * - `pattern`: the name of its regular expression in patterns.json;
 * - `end`: one past the last ordinary token;
 * - `chat`: the tokens before a message, after it, and between its head and its text;
 * - `jsTiktoken`: SHA-256 of js-tiktoken's ranks without white space and offsets.
 *
 * gpt2 is the first name of r50k_base.
 */
const TABLE = require("./encodings.json");

const ENCODINGS = Object.keys(TABLE);
/** Longest part of an unknown name that an error shows, UTF-16 units. */
const NAME_UNITS = 60;
/** Numbers of the encodings in the native engine, by name; undefined until the engine is asked. Holds loaded encodings, too. */
const numbers = new Map(ENCODINGS.map((name) => [name, undefined]));

const ENCODING_OF = new Map(
  Object.entries(TABLE).flatMap(([encoding, { models }]) => models.map((model) => [model, encoding])),
);

/** A model can belong to two families. The longer name comes first. */
const FAMILIES = [...ENCODING_OF.keys()].sort((a, b) => b.length - a.length);

/** OpenAI's models that are newer than the table, such as `gpt-5.1-codex` and `o4`. They have o200k_base. */
const NEWER = /^(gpt-([5-9]|\d\d)(\.\d+)?|gpt-(realtime|audio|live)|o\d+)(-|$)/;

/** Returns the encoding of a model such as `gpt-4o-2024-08-06`, `openai/gpt-4o` or `ft:gpt-4o:us::id`; undefined if unknown. */
function encodingOf(model) {
  const name = bare(String(model));
  const family = FAMILIES.find((family) => name === family || name.startsWith(`${family}-`));
  return ENCODING_OF.get(family) ?? (NEWER.test(name) ? "o200k_base" : undefined);
}

/** Prefixes of a model's name that end in a colon or a dot. */
const PREFIX = /^(?:(?:ft|openai|azure|azure_openai)[:.])+/;

/** Returns a model's name without its vendor and without the marks of fine-tuning. */
function bare(model) {
  const name = model.trim().toLowerCase();
  const own = name.slice(name.lastIndexOf("/") + 1);
  return own.replace(PREFIX, "").split(":")[0];
}

const ELSEWHERE =
  "Other vendors' models need their own file: loadEncoding, or --tokenizer on the command line";

/** Returns the encoding of a model. Throws for an unknown model. */
function encodingForName(model) {
  const encoding = encodingOf(model);
  if (encoding !== undefined) return encoding;
  const near = nearest(bare(String(model)), [...ENCODING_OF.keys()]);
  throw new Error(
    `Unknown model ${showUpTo(NAME_UNITS, model)}: the nearest known is "${near}" (${ENCODING_OF.get(near)}). ` +
      `Name the encoding itself: ${knownNames().join(", ")}. ${ELSEWHERE}`,
  );
}

/** True for an encoding or the name of one. */
const isEncoding = (value) => numbers.has(nameOfEncoding(value));

/** Returns the name of an encoding, which is given by name or as an object. */
const nameOfEncoding = (value) => (typeof value === "object" && value !== null ? value.name : value);

/** Returns the name of an encoding. Throws for an unknown name. */
function checkEncoding(value) {
  if (isEncoding(value)) return nameOfEncoding(value);
  const name = nameOfEncoding(value);
  throw new RangeError(
    `Unknown encoding ${showUpTo(NAME_UNITS, name)}: the nearest known is "${nearest(String(name), knownNames())}". ` +
      `There are ${knownNames().join(", ")}. ${ELSEWHERE}`,
  );
}

const knownNames = () => [...numbers.keys()];

/** Returns the number of an encoding in the native engine. */
function numberOf(encoding) {
  const known = numbers.get(encoding);
  if (known !== undefined) return known;
  const number = native().encodingNumber(encoding);
  numbers.set(encoding, number);
  return number;
}

/** Returns the encoding that options name, by itself or by a model. The default is cl100k_base. */
function encodingIn({ encoding, model } = {}) {
  if (encoding !== undefined) return checkEncoding(encoding);
  return model === undefined ? "cl100k_base" : encodingForName(model);
}

/**
 * Returns the wanted encoding. "auto" is that of the first model that answered: counts stay when another model continues, and
 * calibration learns the difference. Before any answer it is `latest`. Undefined means cl100k_base, as for models of other vendors.
 */
function encodingOfTranscript(wanted, messages, latest) {
  if (wanted !== "auto") return nameOfEncoding(wanted);
  for (const message of messages) {
    const model = modelOf(message);
    if (model !== undefined) return encodingOf(model);
  }
  return latest;
}

/** Returns the model of an answer; undefined for a failed answer and for a message that cannot be read. */
function modelOf(message) {
  return attempt(() => {
    if (message?.role !== "assistant" || UNSENT_STOP_REASONS.has(message.stopReason)) return undefined;
    return typeof message.model === "string" ? message.model : undefined;
  });
}

module.exports = {
  ENCODINGS,
  TABLE,
  checkEncoding,
  encodingForName,
  encodingIn,
  encodingOfTranscript,
  isEncoding,
  knownNames,
  numberOf,
  numbers,
};
