// Converts messages of other stacks to pi's and back. A shape is one file with three functions. `isMarked(message)` recognises a
// message that only this shape can hold. `read(message, names)` returns pi's messages that stand in for it.
// `write(message, standIns, isOwn)` returns the message for edited stand-ins; `isOwn` is true for an unedited one. Unmarked
// messages (`{ role, content: string }`) are the same in every shape.
"use strict";

const { SOURCE } = require("./parts.js");
const aiSdk = require("./ai-sdk.js");
const anthropic = require("./anthropic.js");
const openai = require("./openai.js");
const pi = require("./pi.js");
const responses = require("./responses.js");
const seed = require("./seed.js");

const SHAPES = [seed, openai, responses, anthropic, aiSdk];

/** Known shapes without a file. */
const UNREAD = [
  [
    "UIMessage[] of the AI SDK (use convertToModelMessages)",
    ({ parts, role }) => Array.isArray(parts) && role !== "model",
  ],
  ["Gemini's contents", ({ role, parts }) => role === "model" || Array.isArray(parts)],
  [
    "LangChain's messages",
    ({ _getType, getType }) => [_getType, getType].some((has) => typeof has === "function"),
  ],
];

/** Returns the shape of a message; undefined for pi's own. Throws a TypeError for a known shape without a file. */
function shapeOf(message) {
  const shape = SHAPES.find(({ isMarked }) => isMarked(message));
  if (shape !== undefined) return shape;
  const unread = UNREAD.find(([, isMarked]) => isMarked(message));
  if (unread === undefined) return pi.isMarked(message) ? pi : undefined;
  throw new TypeError(`messages are ${unread[0]}; pi's, OpenAI's, Anthropic's and the AI SDK's can be read`);
}

/** Reads lists into pi's shape and writes edited lists back. Converts each message once. */
class Shapes {
  #shapeOf;
  /** Stand-ins by message, with the values from which they were read. */
  #read = new WeakMap();

  /** `shapeOf(message)` returns the shape of a message; undefined for pi's own. */
  constructor(ownShapeOf = shapeOf) {
    this.#shapeOf = ownShapeOf;
  }

  /** Returns the list with stand-ins; `messages` itself if all are pi's. */
  read(messages) {
    const names = new Map();
    const lists = messages.map((message) => this.standIns(message, names));
    return lists.every((list) => list === undefined)
      ? messages
      : lists.flatMap((list, at) => list ?? [messages[at]]);
  }

  /** Returns the stand-ins of a message; undefined for pi's own. `names` maps ids of calls to names of tools. */
  standIns(message, names = new Map()) {
    if (typeof message !== "object" || message === null) return undefined;
    const shape = this.#shapeOf(message);
    if (shape === undefined) return undefined;
    const values = Object.values(message).flatMap((value) =>
      Array.isArray(value) ? [value, value.length] : value,
    );
    const known = this.#read.get(message);
    const isSame =
      known?.values.length === values.length && known.values.every((value, i) => value === values[i]);
    if (isSame) {
      for (const [id, name] of known.names) names.set(id, name);
      return known.standIns;
    }
    const own = new Map();
    const standIns = shape.read(message, {
      get: (id) => names.get(id),
      set: (id, name) => own.set(id, name),
    });
    for (const standIn of standIns) standIn[SOURCE] = message;
    this.#read.set(message, { values, standIns, names: own });
    for (const [id, name] of own) names.set(id, name);
    return standIns;
  }

  /**
   * Returns the list for `edited`, which was made of `messages`. A message without stand-ins (an answer to an approval request)
   * stays behind the message before it.
   */
  write(edited, messages) {
    const followers = followersIn(messages, (message) => this.#read.get(message)?.standIns.length === 0);
    const written = [...(followers.get(undefined) ?? [])];
    for (let i = 0; i < edited.length; ) {
      const source = edited[i][SOURCE] ?? edited[i];
      const standIns = [];
      do standIns.push(edited[i++]);
      while (edited[i]?.[SOURCE] === source);
      written.push(this.#written(source, standIns), ...(followers.get(source) ?? []));
    }
    return written;
  }

  #written(source, standIns) {
    const whole = this.#read.get(source)?.standIns;
    if (whole === undefined) return source;
    if (standIns.length === whole.length && standIns.every((one, i) => one === whole[i])) return source;
    return this.#shapeOf(source).write(source, standIns, (one) => whole.includes(one));
  }
}

/** Maps a message to the messages that stay behind it. */
function followersIn(messages, isFollower) {
  const followers = new Map();
  let leader;
  for (const message of messages) {
    if (!isFollower(message)) leader = message;
    else followers.set(leader, [...(followers.get(leader) ?? []), message]);
  }
  return followers;
}

module.exports = { Shapes };
