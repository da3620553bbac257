// A live look at what the model sees: watches a hook call by call, and shows it on a page of this machine's own. Off
// unless a host makes one; it keeps numbers, and of the messages nothing but weak references.
"use strict";

const { Hook, Layers } = require("../hook/hook.js");
const { checkHookOptions } = require("../hook/options.js");
const { checkPrices } = require("../bill/prices.js");
const { atLeastOne, checkOptions, record, text } = require("../options.js");
const { CallLog } = require("./log.js");
const { PageServer } = require("./server.js");

/** Calls that are kept. */
const MAX_CALLS = 10_000;
const OPTIONS = {
  title: ["pi-strata", text],
  prices: [undefined, record],
  maxCalls: [MAX_CALLS, atLeastOne],
};
function createInspector(options) {
  const checked = checkOptions("createInspector", options, OPTIONS);
  checked.prices = checkPrices("createInspector", checked.prices);
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
    const checked = checkHookOptions("createTransformContext", options);
    const onEvent = (event) => {
      if (event.type === "failed") this.#log.failed(event.message, hook.contextWindow());
      return checked.onEvent?.(event);
    };
    const watched = checkHookOptions("createTransformContext", { ...options, onEvent });
    const hook = new Hook(new WatchedLayers(watched, this.#log));
    // Message by message each has a reason of its own.
    return (messages, signal) => hook.transform(messages, signal, true);
  }

  /** Takes any of pi's agent events, or an assistant message, to show at once what the provider reported. */
  answered(event) {
    this.#log.answered(event?.type === "message_end" ? event.message : event);
  }

  async open({ port = 0 } = {}) {
    this.#server ??= new PageServer(this.#title, this.#log);
    return this.#server.open(port);
  }

  async close() {
    const server = this.#server;
    this.#server = undefined;
    await server?.close();
  }
}

/** The hook's own policy, with an eye on what was done. */
class WatchedLayers extends Layers {
  #log;

  constructor(options, log) {
    super(options);
    this.#log = log;
  }

  report(outcome, call) {
    super.report(outcome, call);
    try {
      this.#log.called(outcome);
    } catch {
      // A look must never cost the call: what could not be noted is not shown.
    }
  }
}

module.exports = { createInspector };
