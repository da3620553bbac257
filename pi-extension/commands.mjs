// The commands after `/strata`, and what each does; the panel itself is in panel.mjs.

import strata from "../index.js";
import { ACTIONS, table } from "./panel.mjs";
import { ENTRY_TYPE } from "./record.mjs";
import { switchOff } from "./settings.mjs";

/** Rows of `/strata show` that fit a screen. */
const SHOWN = 40;
/** UTF-16 units of an original that are shown where there is no editor to read it in. */
const MAX_SHOWN_UNITS = 20_000;

const WORDS = {
  show: "lists what was cut; /strata show 3 opens the third",
  now: "cuts before the next request, as on a cold cache: for the end of a task",
  pause: "sends requests whole, until /strata resume",
  resume: "edits requests again",
  off: "the same for every session to come, until /strata on",
  on: "edits requests again, in every session",
};
/** What the user is told once it is done. */
const SWITCHED = {
  pause: "pi-strata paused: requests are sent whole until /strata resume.",
  resume: "pi-strata edits requests again.",
  off: "pi-strata is off, in later sessions too, until /strata on.",
  on: "pi-strata is on.",
};
export const DESCRIPTION = "what the context holds, what was cut and why; show, now, pause, resume, off, on";

/** Nothing completes a word that is whole: else Enter takes the completion, and only a second one runs it. */
export function completions(prefix) {
  return Object.entries(WORDS)
    .filter(([name]) => name.startsWith(prefix) && name !== prefix)
    .map(([name, description]) => ({ value: name, label: name, description }));
}

/** Answers one command of `session`; returns what the user is told, as `[kind, text]`. */
export async function answer(argument, session, ctx, pi) {
  const [word, what] = argument.split(/\s+/);
  switch (word) {
    case "":
      return ["info", await session.panel()];
    case "show":
      return show(what, session, ctx);
    case "now":
      return now(session, pi);
    case "pause":
    case "resume":
    case "off":
    case "on":
      if (word === "off" || word === "on") switchOff(word === "off");
      session.pause(word === "off" || word === "pause");
      return ["info", SWITCHED[word]];
    default: {
      const names = Object.keys(WORDS).map((name) => `, /strata ${name}`);
      return ["warning", `There is /strata${names.join("")}.`];
    }
  }
}

/** Entered in the session file, so that a restarted process decides the same. */
function now(session, pi) {
  const cutAt = Date.now();
  pi.appendEntry?.(ENTRY_TYPE, { cutAt });
  session.cutAt(cutAt);
  return ["info", "The next request is cut as if the cache were cold, if there is enough to cut."];
}

async function show(what, session, ctx) {
  const cuts = await session.cuts();
  if (cuts === undefined) return ["info", "pi-strata has seen no request of this session yet."];
  if (cuts.length === 0) return ["info", "Nothing is cut."];
  if (what === undefined) {
    const rows = cuts
      .slice(-SHOWN)
      .map(({ nth, name, tokensSaved, handle }) => [`${nth}  ${name}`, tokensSaved, handle ?? ""]);
    const hidden = cuts.length - rows.length;
    const more = hidden > 0 ? [`The ${hidden} oldest are not listed.`] : [];
    return [
      "info",
      [
        ...table(["cut", "tokens saved", "handle"], rows),
        ...more,
        "/strata show and a number opens one.",
      ].join("\n"),
    ];
  }
  const cut = cuts.find(({ nth, handle }) => String(nth) === what || handle === what);
  if (cut === undefined) return ["warning", `There is no cut ${what.slice(0, 40)}; /strata show lists them.`];
  if (ctx.hasUI && typeof ctx.ui.editor === "function") {
    await ctx.ui.editor(`${cut.name} (a copy to read)`, cut.text);
    return undefined;
  }
  const isLong = cut.text.length > MAX_SHOWN_UNITS;
  return ["info", isLong ? `${cut.text.slice(0, MAX_SHOWN_UNITS)}\n…` : cut.text];
}

/** The edited messages of the last request, oldest first, each with the text it had. */
export async function cutsOf(messages, options, seen) {
  const { edits } = await strata.explain(messages, options);
  return edits
    .map((edit) => ({ ...edit, message: messages[edit.index] }))
    .sort((a, b) => a.index - b.index)
    .map(({ action, reason, tokensSaved, message }, at) => ({
      nth: at + 1,
      name: `${message?.toolName ?? message?.role}: ${ACTIONS[action] ?? action}, ${reason}`,
      tokensSaved,
      handle: handleIn(seen(message).message),
      text: textOf(message),
    }));
}

function handleIn(message) {
  const [, handle] = /(?:handle: |句柄：)([0-9a-f]{8})/.exec(textOf(message)) ?? [];
  return handle;
}

function textOf(message) {
  if (typeof message?.content === "string") return message.content;
  const blocks = Array.isArray(message?.content) ? message.content : [];
  const textIn = ({ type, text, thinking, name, arguments: given }) => {
    if (type === "toolCall") return `${name} ${JSON.stringify(given, null, 2)}`;
    return text ?? thinking ?? `[${type}]`;
  };
  return blocks.map(textIn).join("\n");
}
