// pi-strata as an extension of the pi coding agent: `pi install npm:pi-strata`. Before each model call the hook edits
// the messages pi hands over (a deep copy of its own, so the session on disk stays whole), the status line tells what
// that saved, and `/strata` shows more.

import strata from "../index.js";
import { answer, completions, DESCRIPTION } from "./commands.mjs";
import { shrink } from "./compaction.mjs";
import { Session, statusLine } from "./session.mjs";

export { shrink, statusLine };

/** An extension with these options of the hook, on top of what the user set; the model's terms are those of pi's catalogue. */
export function createExtension(options = {}) {
  return function piStrata(pi) {
    // Options in code are checked at once; the user's settings are checked when a session starts.
    strata.createTransformContext(options);
    const session = new Session(options, pi.registerTool?.bind(pi));
    pi.on("session_start", (_event, ctx) => session.start(ctx));
    pi.on("context", async ({ messages }, ctx) => {
      const sent = await session.transform(messages, ctx);
      return sent === undefined ? undefined : { messages: sent };
    });
    pi.on("session_before_compact", (event, ctx) => session.beforeCompact(event, ctx));
    pi.on("session_before_tree", (event, ctx) => session.beforeTree(event, ctx));
    // Versions that know these events not never send them.
    pi.on("cache_warming_decision", (event, ctx) => session.warming(event, ctx));
    pi.on("agent_before_settle", (event) => session.persist(event));
    pi.on("session_shutdown", (_event, ctx) => session.show(ctx, undefined));
    pi.registerCommand?.("strata", {
      description: DESCRIPTION,
      getArgumentCompletions: completions,
      handler: async (argument, ctx) => {
        session.take(ctx);
        try {
          const told = await answer(argument.trim(), session, ctx, pi);
          if (told !== undefined) session.tell(ctx, told[1], told[0]);
        } catch (error) {
          session.tell(ctx, `pi-strata: ${error.message}`, "warning");
        }
      },
    });
  };
}

export default createExtension();
