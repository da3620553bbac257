// A live look at what the model sees: watches a hook call by call, and shows it on a page of this machine's own. Off
// unless a host makes one; it keeps numbers, and of the messages nothing but weak references.
"use strict";

const { Hook, Layers } = require("../hook/hook.js");
const { amount, atLeastOne, checkHookOptions, checkOptions, record, text } = require("../hook/options.js");
const { CallLog } = require("./log.js");
const { PageServer } = require("./server.js");
const { textOf } = require("./text.js");

const PRICES = {
  input: [undefined, amount],
  read: [undefined, amount],
  write: [undefined, amount],
  ttlSeconds: [undefined, amount],
};
const OPTIONS = {
  title: ["pi-strata", text],
  prices: [{}, record],
  maxCalls: [undefined, atLeastOne],
};

function createInspector(options) {
  const checked = checkOptions("createInspector", options, OPTIONS);
  checkOptions("createInspector: prices", checked.prices, PRICES);
  return new Inspector(checked);
}

class Inspector {
  #log;
  #server;
  #title;

  constructor({ title, prices, maxCalls }) {
    this.#title = title;
    this.#log = new CallLog({ prices, maxCalls });
    // Handed on by themselves: `createTransformContext` is what a host exchanges for the package's own.
    this.createTransformContext = this.createTransformContext.bind(this);
    this.answered = this.answered.bind(this);
  }

  createTransformContext(options) {
    const policy = new WatchedLayers(checkHookOptions("createTransformContext", options), this.#log);
    const watched = new WatchedHook(policy, this.#log);
    return (messages, signal) => watched.transform(messages, signal);
  }

  /** Takes any of pi's agent events, or an assistant message, to show at once what the provider reported. */
  answered(event) {
    const message = event?.type === "message_end" ? event.message : event;
    if (message?.role === "assistant" && message.usage !== undefined) this.#log.answered(message);
  }

  async open({ port = 0 } = {}) {
    this.#server ??= new PageServer({
      title: this.#title,
      stateSince: (seen) => this.#log.since(seen),
      messageText: (number) => textOf(this.#log.message(number), this.#log.sent(number)),
    });
    return this.#server.open(port);
  }

  async close() {
    const server = this.#server;
    this.#server = undefined;
    await server?.close();
  }
}

/** A hook that plans message by message, so that each has a reason of its own. */
class WatchedHook extends Hook {
  #policy;
  #log;

  constructor(policy, log) {
    super(policy);
    this.#policy = policy;
    this.#log = log;
  }

  async transform(messages, signal) {
    const list = Array.isArray(messages) ? messages.slice() : [];
    const edited = await super.transform(messages, signal);
    const failure = this.#policy.takeFailure();
    if (failure !== undefined) {
      const contextWindow = this.contextWindow();
      this.#log.called({ list, edited: list, failure, contextWindow, line: contextWindow });
    }
    return edited;
  }

  run(messages, call) {
    return super.run(messages, call, true);
  }
}

/** The hook's own policy, with an eye on what was done. */
class WatchedLayers extends Layers {
  #log;
  #failure;

  constructor(options, log) {
    super({
      ...options,
      onEvent: (event) => {
        if (event.type === "failed") this.#failure = event.message;
        return options.onEvent?.(event);
      },
    });
    this.#log = log;
  }

  /** Why the last call failed, told once. */
  takeFailure() {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  report(outcome, call) {
    super.report(outcome, call);
    try {
      this.#log.called({ ...outcome, line: outcome.plan.line, ms: call.times().totalMs });
    } catch {
      // A look must never cost the call: what could not be noted is not shown.
    }
  }
}

module.exports = { createInspector };
