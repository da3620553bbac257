// Converts messages of other stacks to pi's and back, each by its shape, and edits lists of them by a hook.
"use strict";

const { areSame, isObject } = require("../helpers.js");
const { SOURCE } = require("./parts.js");
const aiSdk = require("./ai-sdk.js");
const { anthropic, openai, pi, responses, seed } = require("./shapes.js");
const { callsIn, isResult } = require("./text.js");

/** Known shapes that cannot be read, with the mark of each. */
const UNREAD = [
  [
    "UIMessage[] of the AI SDK (use convertToModelMessages) or Gemini's contents",
    ({ role, parts, toolInvocations }) => role === "model" || [parts, toolInvocations].some(Array.isArray),
  ],
  [
    "Bedrock's Converse messages",
    ({ content }) =>
      Array.isArray(content) && content.some((part) => isObject(part?.toolUse ?? part?.toolResult)),
  ],
  [
    "LangChain's messages",
    ({ _getType, getType, lc, role, type, data }) =>
      [_getType, getType].some((method) => typeof method === "function") ||
      lc === 1 ||
      (role === undefined && ["human", "ai", "system", "tool"].includes(type) && isObject(data)),
  ],
  ["entries of a session file (use their message)", ({ role, message }) => !role && message?.role],
];
/** Shapes in the order to try. */
const SHAPES = [seed, openai, responses, anthropic, aiSdk, pi];

/** Returns the shape of a message; undefined for pi's own. Throws a TypeError for a known shape that cannot be read. */
function shapeOf(message) {
  const [unread] = UNREAD.find(([, isMarked]) => isMarked(message)) ?? [];
  if (unread === undefined) return SHAPES.find(({ isMarked }) => isMarked(message));
  const text = `messages are ${unread}; pi's, OpenAI's, Anthropic's and the AI SDK's can be read`;
  throw Object.assign(new TypeError(text), { code: "ERR_INVALID_INPUT", shape: unread });
}

/** Most edited lists kept of one conversation. A host may try a step again, or continue one step more than once. */
const KEPT_LISTS = 8;

/** Reads lists into pi's shape, edits them and writes them back. Converts each message once. */
class Shapes {
  #shapeOf;
  /** Stand-ins by message, with the values from which they were read. */
  #read = new WeakMap();
  /** Maps the last message of an edited list to that list and the unedited one. */
  #edited = new WeakMap();

  /** `shapeOf(message)` returns the shape of a message; undefined for pi's own. */
  constructor(ownShapeOf = shapeOf) {
    this.#shapeOf = ownShapeOf;
  }

  /** Returns the list with stand-ins; `messages` itself if all are pi's. */
  read(messages) {
    const calls = new Map();
    const lists = messages.map((message) => this.#standIns(message, calls));
    return lists.every((list) => list === undefined)
      ? messages
      : lists.flatMap((list, at) => list ?? [messages[at]]);
  }

  /** Returns the stand-ins of a message; undefined for pi's own. `calls` are those before it, by id. */
  #standIns(message, calls) {
    if (!isObject(message)) return undefined;
    const shape = this.#shapeOf(message);
    if (shape === undefined) return undefined;
    const values = Object.values(message).flatMap((value) =>
      Array.isArray(value) ? [value, value.length] : value,
    );
    const known = this.#read.get(message);
    const isSame = known?.shape === shape && areSame(known.values, values);
    const standIns = isSame ? known.standIns : shape.read(message, calls);
    if (!isSame) this.#read.set(message, { shape, values, standIns });
    for (const standIn of standIns) {
      standIn[SOURCE] = message;
      for (const call of callsIn(standIn)) calls.set(call.id, call);
      if (isResult(standIn)) standIn.toolName ??= calls.get(standIn.toolCallId)?.name;
    }
    return standIns;
  }

  /**
   * Returns the list for `edited`, which was made of `messages`. A message without stand-ins (an answer to an approval
   * request) stays after the message before it.
   */
  write(edited, messages) {
    const followers = new Map();
    let leader;
    for (const message of messages) {
      if (this.#read.get(message)?.standIns.length !== 0) leader = message;
      else followers.set(leader, [...(followers.get(leader) ?? []), message]);
    }
    const written = [...(followers.get(undefined) ?? [])];
    for (let i = 0; i < edited.length; ) {
      const source = edited[i][SOURCE] ?? edited[i];
      // The same message may occur twice in a row.
      const most = this.#read.get(source)?.standIns.length ?? 1;
      const standIns = [];
      do standIns.push(edited[i++]);
      while (edited[i]?.[SOURCE] === source && standIns.length < most);
      written.push(this.#written(source, standIns), ...(followers.get(source) ?? []));
    }
    return written;
  }

  /** Returns the message for edited stand-ins: the same copy while they stay the same. */
  #written(source, standIns) {
    const known = this.#read.get(source);
    if (known === undefined) return source;
    if (areSame(known.standIns, standIns)) return source;
    if (!areSame(known.edited?.standIns ?? [], standIns)) {
      const message = this.#shapeOf(source).write(source, standIns, (one) => known.standIns.includes(one));
      known.edited = { standIns, message };
    }
    return known.edited.message;
  }

  /**
   * Resolves with the edited list. `transform(list)` edits one in pi's shape. If a host continues from an edited list (the AI SDK
   * from version 7 on, OpenClaw within a turn), `transform` gets the unedited one. Unedited messages and lists stay the same objects.
   */
  async edited(messages, transform) {
    const whole = this.#wholeOf(messages);
    const list = this.read(whole);
    const made = await transform(list);
    const written = made === list ? whole : this.write(made, whole);
    if (areSame(written, messages)) return messages;
    if (written.length > 0) this.#keep(written, whole.slice(), messages);
    return written;
  }

  /** Keeps an edited list. Forgets the oldest of those that ended with one of `messages`. */
  #keep(edited, whole, messages) {
    const known = messages.filter((message) => this.#edited.has(message));
    for (const message of known.slice(0, 1 - KEPT_LISTS)) this.#edited.delete(message);
    this.#edited.set(edited.at(-1), { edited: edited.slice(), whole });
  }

  /** Replaces the edited list at the start of `messages` by the unedited one. Returns `messages` itself if there is none. */
  #wholeOf(messages) {
    for (let end = messages.length; end > 0; end -= 1) {
      const { edited, whole } = this.#edited.get(messages[end - 1]) ?? {};
      if (edited?.length === end && edited.every((message, i) => message === messages[i])) {
        return whole.concat(messages.slice(end));
      }
    }
    return messages;
  }
}

module.exports = { Shapes };
