// Shows live what the model sees: watches a hook call by call and serves a page on this machine. It is off unless a host makes
// one. It keeps numbers, and weak references to the messages.
"use strict";

const { attempt } = require("../helpers.js");
const { Hook } = require("../hook/hook.js");
const { checkPrices } = require("../bill/prices.js");
const { checkOptions, record, text } = require("../options.js");
const { CallLog } = require("./log.js");
const { serve } = require("./server.js");

/** Number of calls, new messages or new changes after which the record begins anew. */
const MOST = 20_000;
const OPTIONS = {
  title: ["pi-strata", text],
  prices: [undefined, record],
};

function createInspector(options) {
  const { title, prices } = checkOptions("createInspector", options, OPTIONS);
  const log = new CallLog({ prices: checkPrices("createInspector", prices), most: MOST });
  let opening;
  // Hosts pass the functions on without the object.
  return {
    createTransformContext(given) {
      const hook = new WatchedHook("createTransformContext", given);
      hook.log = log;
      return (messages, signal) => hook.transform(messages, signal);
    },
    answered: (event) => log.answered(event?.type === "message_end" ? event.message : event),
    async open({ port = 0 } = {}) {
      opening ??= serve({ title, log, port }).catch((error) => {
        opening = undefined;
        throw error;
      });
      return (await opening).url;
    },
    async close() {
      const opened = opening;
      opening = undefined;
      await (await opened?.catch(() => {}))?.close();
    },
  };
}

/** A hook whose outcomes are logged. */
class WatchedHook extends Hook {
  report(outcome, call) {
    super.report(outcome, call);
    // A failure of the log must not cost the call.
    attempt(() => this.log.called(outcome));
  }

  failed(error) {
    this.log.failed(super.failed(error).message, this.contextWindow());
  }
}

module.exports = { createInspector };
