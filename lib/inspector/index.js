// Shows live what the model sees: watches a hook call by call and serves a page on this machine. It is off unless a host makes
// one. It keeps numbers, and weak references to the messages.
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
    // Hosts pass them on without the object: `createTransformContext` takes the place of the package's own.
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
    // True asks for a reason per message.
    return (messages, signal) => hook.transform(messages, signal, true);
  }

  /** Shows at once what the provider reported. Takes any of pi's agent events, or an assistant message. */
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

/** The hook's layers, which also log each outcome. */
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
      // A failure of the log must not cost the call.
    }
  }
}

module.exports = { createInspector };
