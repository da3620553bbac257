// A live look at what the model sees: watches a hook call by call, and shows it on a page of this machine's own. Off
// unless a host makes one; it keeps numbers, and of the messages nothing but weak references.
"use strict";

const { hookOptions } = require("../contract.js");
const { explain } = require("../tools/explain.js");
const { createTransformContext } = require("../hook/hook.js");
const { amount, atLeastOne, checkOptions, highWaterOf, record, text } = require("../hook/options.js");
const { CallLog } = require("./log.js");
const { PageServer } = require("./server.js");
const { textOf } = require("./text.js");

const DEFAULT_WINDOW = 200_000;
const DEFAULT_ECONOMY = hookOptions.economy.default;

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
    this.#log = new CallLog({ prices, maxCalls, onChange: () => this.#server?.changed() });
    // Handed on by themselves: `createTransformContext` is what a host exchanges for the package's own.
    this.createTransformContext = this.createTransformContext.bind(this);
    this.answered = this.answered.bind(this);
  }

  createTransformContext(options = {}) {
    const watched = new WatchedHook(options, this.#log);
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

/** One hook, with an eye on what goes in and what comes out. */
class WatchedHook {
  #hook;
  #options;
  #log;
  #contextWindow = DEFAULT_WINDOW;
  /** Events of the calls under way; a hook tells a call's events one after the other. */
  #events = [];
  #explained = Promise.resolve();

  constructor(options, log) {
    const { onEvent, contextWindow } = options;
    this.#options = options;
    this.#log = log;
    if (typeof contextWindow === "number") this.#contextWindow = contextWindow;
    this.#hook = createTransformContext({
      ...options,
      ...(typeof contextWindow === "function" && {
        contextWindow: () => {
          const tokens = contextWindow();
          this.#contextWindow = tokens > 0 && Number.isFinite(tokens) ? tokens : DEFAULT_WINDOW;
          return tokens;
        },
      }),
      onEvent: (event) => {
        this.#events.push(event);
        return onEvent?.(event);
      },
    });
  }

  async transform(messages, signal) {
    const list = Array.isArray(messages) ? messages.slice() : [];
    const edited = await this.#hook(messages, signal);
    try {
      this.#note(list, edited === messages ? list : edited);
    } catch {
      // A look must never cost the call: what could not be noted is not shown.
    }
    return edited;
  }

  #note(list, edited) {
    const events = this.#events.splice(0);
    const outcome = events.findLast(({ type }) => type === "transformed");
    const failure = events.find(({ type }) => type === "failed");
    // A call that was cancelled says nothing.
    if (outcome === undefined && failure === undefined) return;
    const noted = this.#log.called({
      list,
      edited,
      outcome,
      failure: failure?.message,
      contextWindow: this.#contextWindow,
      line: this.#lineOf(outcome?.schedule),
      miss: events.find(({ type }) => type === "cacheMiss")?.cause,
    });
    if (noted.fresh.length > 0 && outcome !== undefined) this.#explain(list, noted);
  }

  /** Tokens above which the schedule that decided drops messages. */
  #lineOf(schedule) {
    const { contextRatio = hookOptions.contextRatio.default, economy = DEFAULT_ECONOMY } = this.#options;
    if (schedule !== "sticky") return contextRatio * this.#contextWindow;
    return highWaterOf({ contextWindow: this.#contextWindow, contextRatio, economy });
  }

  /** Asks why, once the call is on its way: only where something was done that was not done before. */
  #explain(list, noted) {
    const options = { ...this.#options, onEvent: undefined, contextWindow: this.#contextWindow };
    this.#explained = this.#explained
      .then(() => explain(list, options))
      .then(({ edits }) => this.#log.explained(noted, edits))
      .catch(() => {});
  }
}

module.exports = { createInspector };
