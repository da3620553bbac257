// pi-strata as an extension of the pi coding agent: `pi install npm:pi-strata`. Before each model call the hook edits
// the messages pi hands over (a deep copy of its own, so the session on disk stays whole), and the status line tells
// what that saved.

import strata from "../index.js";

/** Where the status line keeps our part. */
const STATUS_KEY = "pi-strata";

/** An extension with these options of the hook; the context window is that of the model in use. */
export function createExtension(options = {}) {
  return function piStrata(pi) {
    let contextWindow;
    let outcome;
    const transform = strata.createTransformContext({
      contextWindow: () => contextWindow,
      ...options,
      onEvent(event) {
        if (event.type === "transformed" || event.type === "failed") outcome = event;
        return options.onEvent?.(event);
      },
    });
    pi.on("context", async ({ messages }, ctx) => {
      contextWindow = strata.getContextWindow(ctx.model);
      outcome = undefined;
      const sent = await transform(messages, ctx.signal);
      if (ctx.hasUI && outcome !== undefined) ctx.ui.setStatus(STATUS_KEY, statusLine(outcome));
      return { messages: sent };
    });
    pi.on("session_shutdown", (_event, ctx) => {
      if (ctx.hasUI) ctx.ui.setStatus(STATUS_KEY, undefined);
    });
  };
}

/** What a call did, in a few characters: `strata 142k → 61k (−57 %)`. */
export function statusLine({ type, code, tokensBefore, tokensAfter }) {
  if (type === "failed") return `strata off: ${code}`;
  const saved = tokensBefore > 0 ? Math.round((100 * (tokensBefore - tokensAfter)) / tokensBefore) : 0;
  if (saved <= 0) return `strata ${thousands(tokensBefore)}`;
  return `strata ${thousands(tokensBefore)} → ${thousands(tokensAfter)} (−${saved} %)`;
}

function thousands(tokens) {
  return tokens < 1000 ? String(Math.round(tokens)) : `${Math.round(tokens / 1000)}k`;
}

export default createExtension();
