// The very values that the facts of a message were read from, to tell whether its host changed it in place since; and
// whether one message is a copy of another.
"use strict";

/** A property by which our recordings say that a message never changes: no value of it is kept to compare it with. */
const SETTLED = Symbol("settled");

/** Blocks of a content that is no list. */
const NO_LIST = -1;

/** What is read of a message beside its content, by role; assistants and tool results have theirs in `Facts` itself. */
const FIELDS = {
  __proto__: null,
  system: ["sections", "toolsAdded"],
  bashExecution: ["command", "output", "excludeFromContext"],
  branchSummary: ["summary"],
  compactionSummary: ["summary"],
};
const OTHER_FIELDS = ["excludeFromContext"];

/**
 * The values of one message object. They are looked at on every call, so they lie side by side in one object, and only
 * messages of several blocks need more.
 *
 * A host changes in place what grows (content, calls, a shell's output) or comes late (the stop reason, the usage). What is
 * set once is read, but not looked at again: `timestamp`, `api`, `provider`, `model`, signatures, and of the usage the
 * answer's tokens and the costs, which come together with the prompt's.
 */
class Values {
  constructor(message) {
    const { role, content } = message;
    this.role = role;
    this.isSettled = message[SETTLED] === true;
    if (this.isSettled) return;
    const blocks = Array.isArray(content) ? content.slice() : undefined;
    this.content = content;
    this.count = blocks?.length ?? NO_LIST;
    this.first = blocks?.[0];
    this.value = textOf(this.first);
    this.others = this.count > 1 ? blocks.slice(1).map((block) => new KnownBlock(block)) : undefined;
    this.call = isCall(this.first) ? new KnownBlock(this.first) : undefined;
    this.rest = restOf(message, role);
  }

  /** True if the host changed the message in place since it was read. */
  isStale(message) {
    if (this.isSettled) return false;
    const { content, role } = message;
    if (content !== this.content || role !== this.role || this.#isRestStale(message, role)) return true;
    const { count } = this;
    if (count === NO_LIST) return false;
    if (content.length !== count) return true;
    if (count === 0) return false;
    const first = content[0];
    if (first !== this.first || textOf(first) !== this.value || this.call?.isStale(first)) return true;
    return count > 1 && this.others.some((known, i) => known.isStale(content[i + 1]));
  }

  #isRestStale(message, role) {
    const { rest } = this;
    if (role === "toolResult") return message.toolCallId !== rest.id || message.toolName !== rest.name;
    if (role === "user") return false;
    if (role !== "assistant") return fieldsOf(role).some((name, i) => message[name] !== rest[i]);
    const { stopReason, usage } = message;
    if (stopReason !== rest.stopReason || usage !== rest.usage) return true;
    // NaN is what no provider reports but a host may compute.
    return (
      !Object.is(usage?.input, rest.input) ||
      !Object.is(usage?.cacheRead, rest.cacheRead) ||
      !Object.is(usage?.cacheWrite, rest.cacheWrite)
    );
  }
}

/** What was read of one block. */
class KnownBlock {
  constructor(block) {
    this.block = block;
    this.value = textOf(block);
    this.id = block?.id;
    this.name = block?.name;
  }

  isStale(block) {
    if (block !== this.block || textOf(block) !== this.value) return true;
    return block?.id !== this.id || block?.name !== this.name;
  }
}

function restOf(message, role) {
  if (role === "toolResult") return { id: message.toolCallId, name: message.toolName };
  if (role === "user") return undefined;
  if (role !== "assistant") return fieldsOf(role).map((name) => message[name]);
  const { stopReason, usage } = message;
  const { input, cacheRead, cacheWrite } = usage ?? {};
  return { stopReason, usage, input, cacheRead, cacheWrite };
}

function fieldsOf(role) {
  return FIELDS[role] ?? OTHER_FIELDS;
}

/** The one value of a block that its facts come from. */
function textOf(block) {
  return block?.text ?? block?.thinking ?? block?.arguments;
}

function isCall(block) {
  return block?.type === "toolCall";
}

/** Deeper than this nothing is compared: the message is read. */
const DEEPEST = 32;

/**
 * Whether two messages hold the same plain data: all of it, for the host may ask `protect` about any of it. Node's
 * `isDeepStrictEqual`, which takes more than plain data, takes more than twice as long: 1.8 against 0.8 ms for 1 000 messages.
 */
function isCopy(message, other) {
  return isSame(message, other, 0);
}

function isSame(one, other, depth) {
  if (one === other || Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth > DEEPEST) return false;
  return Array.isArray(one) ? isSameList(one, other, depth + 1) : isSameRecord(one, other, depth + 1);
}

function isSameList(one, other, depth) {
  if (!Array.isArray(other) || one.length !== other.length) return false;
  for (let i = 0; i < one.length; i += 1) if (!isSame(one[i], other[i], depth)) return false;
  return true;
}

function isSameRecord(one, other, depth) {
  if (!isPlain(one) || !isPlain(other)) return false;
  let keys = 0;
  for (const key in one) {
    if (!isSame(one[key], other[key], depth)) return false;
    keys += 1;
  }
  for (const _ in other) keys -= 1;
  return keys === 0;
}

/** What else there is, such as a Date, says by no key what it holds. */
function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

module.exports = { SETTLED, Values, isCopy };
