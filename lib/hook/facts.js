// What a hook remembers of one message: the slot of its facts on the native side, and the very values they were read from.
"use strict";

/** Stands for the role of a message whose reading failed: it looks changed, so the next call reads it again. */
const UNREAD = Symbol("unread");

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
 * The facts of one message object, valid as long as the message holds the same values. They are looked at on every call,
 * so the values lie side by side in one object, and only messages of several blocks need more.
 *
 * A host changes in place what grows (content, calls, a shell's output) or comes late (the stop reason, the usage). What is
 * set once is read, but not looked at again: `timestamp`, `api`, `provider`, `model`, signatures, and of the usage the
 * answer's tokens and the costs, which come together with the prompt's.
 */
class Facts {
  constructor(slot, message) {
    this.slot = slot;
    /** The slot without the message's values: the garbage collector keeps it for longer than those. */
    this.place = { slot };
    /** Settles when the native side has the facts; undefined when it has them already. */
    this.pending = undefined;
    /** Which conversation of a host that clones keeps the slot; 0 if the message itself does. */
    this.keeper = 0;
    this.remember(message);
  }

  /** From now on these are the facts of a copy of the message. */
  moveTo(copy) {
    const { shortened, kept } = this;
    this.remember(copy);
    this.shortened = shortened;
    this.kept = kept;
  }

  remember(message) {
    const { role } = message;
    this.role = role;
    /** Replacement text of a summarised tool result, once it was asked for. */
    this.shortened = undefined;
    /** Text of a tool result that was cut by line, and which lines it keeps, once it was asked for. */
    this.kept = undefined;
    this.isSettled = message[SETTLED] === true;
    if (!this.isSettled) this.#rememberValues(message, role);
  }

  #rememberValues(message, role) {
    const { content } = message;
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
    if (this.isSettled) return this.role === UNREAD;
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
    return (
      usage?.input !== rest.input ||
      usage?.cacheRead !== rest.cacheRead ||
      usage?.cacheWrite !== rest.cacheWrite
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

module.exports = { Facts, SETTLED, UNREAD };
