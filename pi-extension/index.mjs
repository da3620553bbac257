// pi-strata as an extension of the pi coding agent: `pi install npm:pi-strata`. The hook edits the messages of each model call.
// pi passes a deep copy, so the session on disk stays whole. The status line says what the hook saved, and `/strata` shows more.

import { attempt } from "../lib/helpers.js";
import { checkHookOptions } from "../lib/hook/options.js";
import { completions, DESCRIPTION, runCommand } from "./commands.mjs";
import { shrink } from "./compaction.mjs";
import { statusLine } from "./panel.mjs";
import { Session } from "./session.mjs";

export { shrink, statusLine };

/**
 * Events of pi, each with the method of the session that answers it unless it is paused. Older versions of pi never send
 * some of them.
 */
const EVENTS = {
  context: "transform",
  context_with_system: "transform",
  input: "prompted",
  session_before_compact: "beforeCompact",
  session_before_tree: "beforeTree",
  cache_warming_decision: "warming",
};

/** An extension with these options of the hook, on top of the user's settings. The model's terms come from pi's catalogue. */
export function createExtension(options = {}) {
  return function piStrata(pi) {
    // Options in code are checked at once; the user's settings are checked when a session starts.
    checkHookOptions("createExtension", options);
    let session;
    const current = (ctx) => {
      session ??= new Session(options, pi, ctx);
      session.take(ctx);
      return session;
    };
    const on = (name, handler) =>
      pi.on(name, (event, ctx) => untilStale(ctx, () => handler(current(ctx), event)));
    // Another session may be in another folder, with other settings.
    pi.on("session_start", (_event, ctx) => {
      session = new Session(options, pi, ctx);
    });
    for (const [name, method] of Object.entries(EVENTS))
      on(name, (active, event) => (active.isPaused ? undefined : active[method](event)));
    on("session_shutdown", (active) => active.show(undefined));
    pi.registerCommand?.("strata", {
      description: DESCRIPTION,
      getArgumentCompletions: completions,
      handler: (argument, ctx) => untilStale(ctx, () => runCommand(current(ctx), argument)),
    });
  };
}

/**
 * Runs a handler. If pi replaces the session meanwhile, every use of the old context throws. Such a handler ends quietly: nobody
 * waits for its answer.
 */
async function untilStale(ctx, handler) {
  try {
    return await handler();
  } catch (error) {
    if (attempt(() => String(ctx.cwd)) === undefined) return undefined;
    throw error;
  }
}

export default createExtension();
