// Describes messages to the native side: a row of numbers and strings each, read by src/node/read.rs. Reads only what
// decisions need, and tolerates any value in a message.
"use strict";

const { attempt } = require("../helpers.js");
const { readRefusal } = require("./refusals.js");
const contract = require("../contract.js");

const { UNSENT_STOP_REASONS, positions } = contract;
const { system, user, assistant, toolResult, summary, custom, other: OTHER_ROLE } = positions(contract.roles);
/** UTF-16 code units at the beginning of a thinking signature that tell its kind. */
const SIGNATURE_CHARS = contract.constants.signatureChars.default;

/** Fields that count as text beside `content`, by role. No prototype: a role may have any name, such as `constructor`. */
const TEXT_FIELDS = {
  __proto__: null,
  system: ["sections", "toolsAdded"],
  bashExecution: ["command", "output"],
  branchSummary: ["summary"],
  compactionSummary: ["summary"],
};

const ROLES = {
  __proto__: null,
  system,
  user,
  assistant,
  toolResult,
  branchSummary: summary,
  compactionSummary: summary,
  custom,
  bashExecution: custom,
};

const BLOCKS = positions(contract.blocks);
const SUBJECTS = positions(contract.subjects);

const string = (value) => (typeof value === "string" ? value : "");
const number = (value) => (typeof value === "number" ? value : Number.NaN);

const NO_REFUSAL = { prompt: Number.NaN };
/** The flags of a message, in one number. */
const SENT = 1;
const PROTECTED = 2;
const ERROR = 4;

/** True for a message that pi never sends. */
function isUnsent({ role, stopReason, excludeFromContext }) {
  return role === "assistant"
    ? UNSENT_STOP_REASONS.has(stopReason)
    : role === "bashExecution" && excludeFromContext === true;
}

/** Messages that cross the boundary together, as rows. */
class Batch {
  #rows = [];
  strings = [];
  /** UTF-16 code units in `strings`. */
  units = 0;
  /** Number of messages. */
  length = 0;

  /**
   * Appends a message. If the host has such functions, `marker` makes its own marker line, and `protects` returns true for a
   * message that must stay unedited.
   */
  add(message, marker, protects) {
    const role = ROLES[message.role] ?? OTHER_ROLE;
    const isSent = !isUnsent(message);
    const error = role === ROLES.toolResult && message.isError === true ? ERROR : 0;
    const flags = (isSent ? SENT : 0) | (protects?.(message) ? PROTECTED : 0) | error;
    this.#rows.push(role, flags, number(message.timestamp));
    const countAt = this.#rows.push(0) - 1;
    if (role === ROLES.assistant) this.#addAssistant(message);
    if (role === ROLES.toolResult) this.#addToolResult(message, marker);
    this.#rows[countAt] = this.#addContent(message.content) + this.#addFields(message);
    this.length += 1;
  }

  get numbers() {
    return new Float64Array(this.#rows);
  }

  /** As `add`, for any value: one that cannot be read as a message is described as unknown. */
  addReadable(message) {
    const [rowNumbers, stringCount, units] = [this.#rows.length, this.strings.length, this.units];
    try {
      this.add(message ?? {});
    } catch {
      this.#rows.length = rowNumbers;
      this.strings.length = stringCount;
      this.units = units;
      this.add({});
    }
  }

  #addAssistant({ usage, api, provider, model, content, stopReason, errorMessage }) {
    const refusal = stopReason === "error" ? readRefusal(errorMessage) : undefined;
    const { input, cacheRead, cacheWrite, cacheWrite1h, cost } = usage ?? {};
    // 0 means that the refusal does not name the prompt.
    const { prompt = 0, limit, output, excess, images, imageChars, subject } = refusal ?? NO_REFUSAL;
    // In the order of `usage` in src/node/read.rs.
    const used = [input, cacheRead, cacheWrite, cacheWrite1h, cost?.input, cost?.cacheRead, cost?.cacheWrite];
    const told = [...used, prompt, limit, output, excess, images, imageChars, SUBJECTS[subject]];
    this.#rows.push(...told.map(number), hasTextId(content) ? 1 : 0);
    this.#addStrings(api, provider, model);
  }

  #addToolResult(message, marker) {
    const line = marker?.(joinedText(message.content));
    this.#rows.push(line === undefined ? 0 : 1);
    this.#addStrings(message.toolCallId, message.toolName, ...(line === undefined ? [] : [line]));
  }

  #addContent(content) {
    if (typeof content === "string") return this.#addPart(BLOCKS.text, content);
    if (!Array.isArray(content)) return 0;
    for (const block of content) this.#addBlock(block);
    return content.length;
  }

  #addBlock(block) {
    switch (block?.type) {
      case "text":
        return this.#addPart(BLOCKS.text, block.text);
      case "thinking": {
        const signature = string(block.thinkingSignature).slice(0, SIGNATURE_CHARS);
        return this.#addPart(BLOCKS.thinking, block.thinking, signature);
      }
      case "redacted_thinking":
        return this.#addPart(BLOCKS.thinking, "", "");
      case "toolCall":
        this.#rows.push(BLOCKS.toolCall, block.thoughtSignature ? 1 : 0);
        return this.#addStrings(block.id, block.name, json(block.arguments));
      case "image":
        // An image given as bytes has no base64, only its length.
        this.#rows.push(BLOCKS.image, string(block.data).length || number(block.base64Units) >>> 0);
        return 1;
      case "counted":
        return this.#addPart(BLOCKS.counted, block.text);
      default:
        return this.#addPart(BLOCKS.unknown);
    }
  }

  #addFields(message) {
    let count = 0;
    for (const field of TEXT_FIELDS[message.role] ?? []) {
      const value = message[field];
      if (value !== undefined)
        count += this.#addPart(BLOCKS.counted, typeof value === "string" ? value : json(value));
    }
    return count;
  }

  #addPart(kind, ...strings) {
    this.#rows.push(kind);
    return this.#addStrings(...strings);
  }

  #addStrings(...strings) {
    for (const value of strings) {
      const text = string(value);
      this.units += text.length;
      this.strings.push(text);
    }
    return 1;
  }
}

/** True if a text carries the id the provider gave it: pi keeps it as the text's signature. */
function hasTextId(content) {
  return Array.isArray(content) && content.some((block) => block?.type === "text" && block.textSignature);
}

/** A value as JSON; an empty text if JSON cannot hold it (cycles, BigInt, a throwing getter, great depth). */
function json(value, replacer, indent) {
  return attempt(() => JSON.stringify(value, replacer, indent) ?? "", "");
}

function joinedText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter((block) => block?.type === "text")
    .map((block) => string(block.text))
    .join("\n");
}

/**
 * The host's `protect` for `Batch.add`. If it throws, the message is protected, so that nothing is lost by mistake. If it
 * returns a promise, the message is not: an async function would end all compression.
 */
function protection(protect, failed) {
  if (protect === undefined) return undefined;
  return (message) => {
    try {
      const answer = protect(message);
      if (typeof answer?.then !== "function") return Boolean(answer);
      answer.then(undefined, () => {});
      failed("returned a promise");
      return false;
    } catch {
      failed("threw an error");
      return true;
    }
  };
}

module.exports = { Batch, TEXT_FIELDS, isUnsent, protection, json, joinedText, string };
