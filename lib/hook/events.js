// Tells the host what a call did, in plain objects without any text of the conversation. A listener that throws,
// rejects or is slow changes nothing about the result.
"use strict";

const contract = require("../contract.js");
const { isThinking, tokensSaved } = require("./plan.js");
const { joinedText } = require("./snapshot.js");

/** The name of a failure, by the code of its error; never its own message, which may hold the user's text. */
const FAILURES = {
  ERR_NATIVE_UNAVAILABLE: "the native addon could not be loaded; status() says why",
  ERR_INVALID_INPUT: "the input cannot be read as messages",
  ERR_INTERNAL: "the transcript could not be processed",
};

/** Tells what replaces a failing function of the host, by its option. */
const STANDS_IN = {
  contextWindow: `a window of ${contract.hookOptions.contextWindow.default} tokens stands in`,
  marker: "it must return a string, so the built-in marker stands in",
  protect:
    "it must say true or false at once: what it throws for is protected, what it returns a promise for is not",
};

/** What the process was warned of. */
const warned = new Set();

/** Warns the process of an event that nobody listens to; `owner` names the function. */
function warnOnce(owner, { type, code = type, message }) {
  if (warned.has(`${owner} ${code}`)) return;
  warned.add(`${owner} ${code}`);
  process.emitWarning(`${owner}: ${message}`, { type: "PiStrataWarning", code });
}

/** The event of a list that is not pi's, by the mark that shows it. */
function unknownShape(mark) {
  const message = `a message has ${mark}, so the list is not pi's; it comes back as it came`;
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
    try {
      const outcome = this.#listener?.(event);
      if (typeof outcome?.then === "function") outcome.then(undefined, () => {});
    } catch {
      // The host's listener failed; its result must not suffer.
    }
  }

  /** Tells what a host must not miss; the process is warned where nobody listens. */
  warn(event) {
    if (this.isListening) this.emit(event);
    else warnOnce(this.#owner, event);
    return event;
  }

  /** Returns true the first time it is asked about something that would be told at every call. */
  isFirst(what) {
    return this.#said.size < this.#said.add(what).size;
  }

  /** Reports a failure; returns the event. A missing addon fails every call, and is told once. */
  failed(error) {
    if (error?.code === "ERR_UNKNOWN_SHAPE") return this.warn(unknownShape(error.mark));
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

  /** Returns the function that is told why a function of the host's failed. */
  failureOf(option) {
    return (cause) => {
      const message = `option ${option}: the function ${cause}; ${STANDS_IN[option]}`;
      if (this.isFirst(option)) this.emit({ type: "optionFailed", option, message });
    };
  }

  /** The plan's events, edit by edit. */
  plan(messages, plan) {
    const shrunk = new Map();
    for (const edit of plan.edits) {
      const saved = tokensSaved(edit.cl100kSaved, plan);
      const { index, action, layer, count } = edit;
      if (edit.images > 0) this.emit({ ...imagesEvent(messages[index], edit), tokensSaved: saved });
      if (layer === LAYERS.shrink) shrunk.set(action, (shrunk.get(action) ?? 0) + saved);
      else if (layer === LAYERS.window)
        this.emit({ type: "messagesDropped", from: index, to: index + count - 1, count, tokensSaved: saved });
      else if (action !== "omitImages") this.emit(editEvent(messages[index], edit, saved));
    }
    for (const [step, saved] of shrunk) this.emit({ type: "shrunk", step, tokensSaved: saved });
  }
}

/** Lists the edits of a plan, one for each message, with the tokens that each saves. `tokens` holds the size of each message. */
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
  return { type: "repaired", index, rule: reason, ...afterOf(edit) };
}

/** The message that a move puts one behind, as `{ after }`. */
const afterOf = ({ action, ranges }) => (action === "moveAfter" ? { after: ranges[0][0] } : undefined);

function imagesEvent({ role, toolCallId, toolName }, { index, images }) {
  const tool = role === "toolResult" ? { toolCallId, toolName } : {};
  return { type: "imagesOmitted", index, ...tool, images };
}

const LAYERS = contract.positions(contract.LAYERS);

/** Of a result cut by line, how many lines stay for which reason, the most first; undefined for other edits. */
function keptOf({ action, ranges }) {
  if (action !== "keepLines") return undefined;
  const lines = new Map();
  for (const [from, to, keep] of ranges) {
    const why = contract.KEEPS[keep];
    lines.set(why, (lines.get(why) ?? 0) + to - from);
  }
  return Array.from(lines, ([why, count]) => ({ lines: count, why })).sort((a, b) => b.lines - a.lines);
}

module.exports = {
  Reporter,
  afterOf,
  editsByMessage,
  keptOf,
  unknownShape,
  warnOnce,
  LAYERS,
};
