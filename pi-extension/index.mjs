// pi-strata as an extension of the pi coding agent: `pi install npm:pi-strata`. The hook edits the messages of each model call
// (pi hands over a deep copy, so the session on disk stays whole), the status line says what that saved, and `/strata` shows
// more.

import strata from "../index.js";
import { answer, completions, DESCRIPTION } from "./commands.mjs";
import { shrink } from "./compaction.mjs";
import { Session, statusLine } from "./session.mjs";

export { shrink, statusLine };

/** An extension with these options of the hook, on top of the user's settings. The model's terms come from pi's catalogue. */
export function createExtension(options = {}) {
  return function piStrata(pi) {
    // Options in code are checked at once; the user's settings are checked when a session starts.
    strata.createTransformContext(options);
    const session = new Session(options, pi.registerTool?.bind(pi));
    const on = (event, handler) => pi.on(event, (...args) => untilStale(args[1], () => handler(...args)));
    on("session_start", (_event, ctx) => session.start(ctx));
    on("context", async ({ messages }, ctx) => {
      const sent = await session.transform(messages, ctx);
      return sent === undefined ? undefined : { messages: sent };
    });
    on("input", () => session.prompted());
    on("session_before_compact", (event, ctx) => session.beforeCompact(event, ctx));
    on("session_before_tree", (event, ctx) => session.beforeTree(event, ctx));
    // Older versions of pi never send these events.
    on("cache_warming_decision", (event, ctx) => session.warming(event, ctx));
    on("agent_before_settle", (event) => session.persist(event));
    on("session_shutdown", (_event, ctx) => session.show(ctx, undefined));
    pi.registerCommand?.("strata", {
      description: DESCRIPTION,
      getArgumentCompletions: completions,
      handler: (argument, ctx) => untilStale(ctx, () => run(argument, session, ctx, pi)),
    });
  };
}

async function run(argument, session, ctx, pi) {
  session.take(ctx);
  try {
    const told = await answer(argument.trim(), session, ctx, pi);
    if (told !== undefined) session.tell(ctx, told[1], told[0]);
  } catch (error) {
    session.tell(ctx, `pi-strata: ${error.message}`, "warning");
  }
}

/**
 * Runs a handler. If pi replaces the session while the handler waits, every use of the old context throws. Such a handler ends
 * quietly: nobody waits for its answer.
 */
async function untilStale(ctx, handler) {
  try {
    return await handler();
  } catch (error) {
    if (isStale(ctx)) return undefined;
    throw error;
  }
}

function isStale(ctx) {
  try {
    void ctx?.cwd;
    return false;
  } catch {
    return true;
  }
}

export default createExtension();
