// Reports a call to the host, in plain objects without text of the conversation. A listener that throws, rejects or is slow
// does not affect the result.
"use strict";

const contract = require("../contract.js");
const { attempt } = require("../helpers.js");
const { isThinking, tokensSaved } = require("./plan.js");
const { joinedText } = require("./snapshot.js");

/** The message of a failure, by error code. The error's own message may hold the user's text. */
const FAILURES = {
  ERR_NATIVE_UNAVAILABLE: "the native addon could not be loaded; status() says why",
  ERR_INVALID_INPUT: "the input cannot be read as messages; it must be an array of pi's",
  ERR_INTERNAL: "the transcript could not be processed",
};

/** The fallback for a failing function of the host, by option. */
const FALLBACKS = {
  contextWindow: `a window of ${contract.hookOptions.contextWindow.default} tokens stands in`,
  marker: "it must return a string, so the built-in marker stands in",
  protect:
    "it must return true or false, not a promise; a message for which it throws is protected, one with a promise is not",
};

/** Warnings already emitted. */
const warned = new Set();

/** Adds a value to a set. Returns true if it was not there. */
const isNewIn = (set, value) => set.size < set.add(value).size;

/** The event for a list of another shape, recognised by `mark`. `door` says what takes it. */
function unknownShape({ mark, door }) {
  const message = `a message has ${mark}, so the list is not pi's; it is neither checked nor changed; ${door}`;
  return { type: "unknownShape", mark, message };
}

class Reporter {
  #listener;
  #owner;
  #said = new Set();

  /** `owner` names the function in a warning. */
  constructor(listener, owner = "transformContext") {
    this.#listener = listener;
    this.#owner = owner;
  }

  get isListening() {
    return this.#listener !== undefined;
  }

  emit(event) {
    // A listener that fails must not cost the result.
    attempt(() => {
      const outcome = this.#listener?.(event);
      if (typeof outcome?.then === "function") outcome.then(undefined, () => {});
    });
  }

  /** Reports an event that a host must not miss: without a listener, as a process warning, once for each owner and code. */
  warn(event) {
    const { type, code = type, message } = event;
    if (this.isListening) this.emit(event);
    else if (isNewIn(warned, `${this.#owner} ${code}`))
      process.emitWarning(`${this.#owner}: ${message}`, { type: "PiStrataWarning", code });
    return event;
  }

  /** Returns true on the first call with `what`. */
  isFirst(what) {
    return isNewIn(this.#said, what);
  }

  /** Reports a failure; returns the event. A missing addon fails every call and is reported once. */
  failed(error) {
    if (error?.code === "ERR_UNKNOWN_SHAPE") return this.warn(unknownShape(error));
    const code = Object.hasOwn(FAILURES, error?.code) ? error.code : "ERR_INTERNAL";
    const event = { type: "failed", code, message: FAILURES[code] };
    if (code !== "ERR_NATIVE_UNAVAILABLE") this.emit(event);
    else if (this.isFirst(code)) this.warn(event);
    return event;
  }

  /** Reports a failure of the host's own code or database, with its code, its message and its cause. */
  failedAt(type, error, details) {
    const { code = "ERR_INTERNAL", message = error } = error ?? {};
    this.warn({ type, code: String(code), message: String(message), cause: error, ...details });
  }

  /** Returns a function that reports, once, why the host's function failed. */
  failureOf(option) {
    return (cause) => {
      const message = `option ${option}: the function ${cause}; ${FALLBACKS[option]}`;
      if (this.isFirst(option)) this.emit({ type: "optionFailed", option, message });
    };
  }

  /** Reports a plan, edit by edit. */
  plan(messages, plan) {
    const shrunk = new Map();
    for (const edit of plan.edits) {
      const saved = tokensSaved(edit.cl100kSaved, plan);
      const { index, action, layer, count } = edit;
      if (edit.images > 0) this.emit({ ...imagesEvent(messages[index], edit), tokensSaved: saved });
      if (layer === LAYERS.shrink || action === "truncate")
        shrunk.set(action, (shrunk.get(action) ?? 0) + saved);
      else if (layer === LAYERS.window)
        this.emit({ type: "messagesDropped", from: index, to: index + count - 1, count, tokensSaved: saved });
      else if (action !== "omitImages") this.emit(editEvent(messages[index], edit, saved));
    }
    for (const [step, saved] of shrunk) this.emit({ type: "shrunk", step, tokensSaved: saved });
  }
}

/** Lists the edits of a plan, one per message, with the tokens saved. `tokens` holds the size of each message. */
function editsByMessage(plan, tokens) {
  return plan.edits.flatMap(({ index, count, cl100kSaved, ...edit }) => {
    const whole = count > 1 ? tokens.slice(index, index + count) : [cl100kSaved];
    return whole.map((saved, i) => ({ ...edit, index: index + i, tokensSaved: tokensSaved(saved, plan) }));
  });
}

function editEvent({ toolCallId, toolName, content }, edit, saved) {
  const { index, action, reason, written } = edit;
  if (action === "summarize" || action === "keepLines") {
    const [charsBefore, charsAfter] = [joinedText(content).length, written.length];
    const type = "toolResultSummarized";
    return { type, index, toolCallId, toolName, charsBefore, charsAfter, tokensSaved: saved };
  }
  if (action === "stripThinking")
    return { type: "thinkingStripped", index, blocks: content.filter(isThinking).length, tokensSaved: saved };
  return { type: "repaired", index, rule: REPAIRS[action], reason, ...afterOf(edit) };
}

/** The rule of `validate` that a repair obeys, by its action. */
const REPAIRS = { drop: "orphan-result", dropCalls: "duplicate-call-id", moveAfter: "late-result" };

/** `{ after }`: the message after which a moved one is sent. */
const afterOf = ({ action, ranges }) => (action === "moveAfter" ? { after: ranges[0][0] } : undefined);

function imagesEvent({ role, toolCallId, toolName }, { index, images }) {
  const tool = role === "toolResult" ? { toolCallId, toolName } : {};
  return { type: "imagesOmitted", index, ...tool, images };
}

const LAYERS = contract.positions(contract.LAYERS);

/** Number of kept lines by reason, the most first, for a result cut by line; else undefined. */
function keptOf({ action, ranges }) {
  if (action !== "keepLines") return undefined;
  const lines = new Map();
  for (const [from, to, keep] of ranges) {
    const why = contract.KEEPS[keep];
    lines.set(why, (lines.get(why) ?? 0) + to - from);
  }
  return Array.from(lines, ([why, count]) => ({ lines: count, why })).sort((a, b) => b.lines - a.lines);
}

module.exports = { LAYERS, Reporter, afterOf, editsByMessage, keptOf, unknownShape };
