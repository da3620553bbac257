// pi-strata as an extension of the pi coding agent: `pi install npm:pi-strata`. Before each model call the hook edits
// the messages pi hands over (a deep copy of its own, so the session on disk stays whole), the status line tells what
// that saved, and `/strata` shows more.

import strata from "../index.js";
import { panelText } from "./panel.mjs";
import { readSettings } from "./settings.mjs";

/** Where the status line keeps our part. */
const STATUS_KEY = "pi-strata";

/** An extension with these options of the hook, on top of what the user set; the window is that of the model in use. */
export function createExtension(options = {}) {
  return function piStrata(pi) {
    // What the code says is checked where it is said; what the user set is checked when a session starts.
    strata.createTransformContext(options);
    const session = new Session(options, pi.registerTool?.bind(pi));
    pi.on("session_start", (_event, ctx) => session.start(ctx));
    pi.on("context", async ({ messages }, ctx) => {
      const sent = await session.transform(messages, ctx);
      return sent === undefined ? undefined : { messages: sent };
    });
    pi.on("session_shutdown", (_event, ctx) => show(ctx, undefined));
    pi.registerCommand?.("strata", {
      description: "what the context holds, what was edited and why; /strata pause, /strata resume",
      getArgumentCompletions: (prefix) =>
        ["pause", "resume"]
          // Nothing completes a word that is whole: else Enter takes the completion, and only a second one runs it.
          .filter((name) => name.startsWith(prefix) && name !== prefix)
          .map((name) => ({ value: name, label: name })),
      handler: (argument, ctx) => session.command(argument.trim(), ctx),
    });
  };
}

/** One session of pi: its hook, and what is remembered for the status line and the command. */
class Session {
  #given;
  #registerTool;
  #hasRecall = false;
  #options;
  #hook;
  #contextWindow;
  #outcome;
  #last;
  #calls = { count: 0, tokensSaved: 0 };
  #isPaused = false;
  #saidDead = false;

  constructor(given, registerTool) {
    this.#given = given;
    this.#registerTool = registerTool;
  }

  /** Reads the settings anew: another session may be in another folder. */
  start(ctx) {
    const { options, isEnabled, problems } = readSettings(ctx.cwd);
    this.#isPaused = !isEnabled;
    this.#last = undefined;
    this.#calls = { count: 0, tokensSaved: 0 };
    try {
      this.#makeHook({ ...options, ...this.#given });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      problems.push(error.message);
      this.#makeHook({ marker: options.marker === "zh" ? "zh" : "en", ...this.#given });
    }
    for (const problem of problems) tell(ctx, `pi-strata: ${problem}`, "warning");
    if (this.#isPaused) show(ctx, "strata paused");
  }

  #makeHook(options) {
    const own = { contextWindow: () => this.#contextWindow, ...options };
    this.#hook = strata.createTransformContext({
      ...own,
      onEvent: (event) => {
        if (event.type === "transformed" || event.type === "failed") this.#outcome = event;
        return options.onEvent?.(event);
      },
    });
    this.#options = own;
    this.#offerRecall();
  }

  /** The markers' handles are of use only with the tool that reads by them; what pi handed over last is whole. */
  #offerRecall() {
    if (this.#options.recall !== true || this.#hasRecall) return;
    this.#registerTool?.(strata.createRecallTool(() => this.#last?.messages));
    this.#hasRecall = true;
  }

  /** What is sent instead of these messages; undefined while paused. */
  async transform(messages, ctx) {
    if (this.#hook === undefined) this.start(ctx);
    if (this.#isPaused) return undefined;
    // A model of an unknown size says 0.
    this.#contextWindow = ctx.model?.contextWindow || strata.getContextWindow();
    this.#outcome = undefined;
    const sent = await this.#hook(messages, ctx.signal);
    this.#last = { messages, sent };
    this.#note(ctx);
    return sent;
  }

  #note(ctx) {
    if (this.#outcome === undefined) return;
    show(ctx, statusLine(this.#outcome));
    const { type, code, tokensBefore, tokensAfter } = this.#outcome;
    if (type === "transformed") {
      this.#calls.count += 1;
      this.#calls.tokensSaved += Math.max(0, tokensBefore - tokensAfter);
    } else if (code === "ERR_NATIVE_UNAVAILABLE" && !this.#saidDead) {
      this.#saidDead = true;
      const { error, hint } = strata.status();
      tell(ctx, `pi-strata is off, the context is sent whole: ${error}. ${hint}`, "warning");
    }
  }

  async command(argument, ctx) {
    if (argument === "pause" || argument === "resume") {
      this.#isPaused = argument === "pause";
      show(ctx, this.#isPaused ? "strata paused" : undefined);
      const text = this.#isPaused
        ? "paused: requests are sent whole until /strata resume"
        : "edits requests again";
      return tell(ctx, `pi-strata ${text}.`, "info");
    }
    if (argument !== "") return tell(ctx, "There is /strata, /strata pause and /strata resume.", "warning");
    if (this.#last === undefined)
      return tell(ctx, "pi-strata has seen no request of this session yet.", "info");
    try {
      const { contextWindow } = this.#options;
      const tokens = typeof contextWindow === "function" ? contextWindow() : contextWindow;
      const options = { ...this.#options, contextWindow: tokens, onEvent: undefined };
      const paused = this.#isPaused ? "pi-strata is paused; this is the last request it edited.\n" : "";
      tell(ctx, paused + (await panelText(this.#last, options, this.#calls)), "info");
    } catch (error) {
      tell(ctx, `pi-strata: ${error.message}`, "warning");
    }
  }
}

function show(ctx, text) {
  if (ctx.hasUI) ctx.ui.setStatus(STATUS_KEY, text);
}

/** Without a screen, standard output belongs to the answer. */
function tell(ctx, text, kind) {
  if (ctx.hasUI) ctx.ui.notify(text, kind);
  else process.stderr.write(`${text}\n`);
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
