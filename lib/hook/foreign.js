// Recognises messages of another agent's shape by their marks. The hook would damage such a list.
"use strict";

const { attempt } = require("../helpers.js");
const { foreign } = require("../contract.js");

/** The marks of one kind, each with its shape. */
const marksOf = (kind) =>
  Object.values(foreign).flatMap((shape) => (shape[kind] ?? []).map((word) => [word, shape]));
const [ROLES, TYPES, FIELDS, BLOCKS, KEYS] = ["roles", "types", "fields", "blocks", "keys"].map(marksOf);
/** Shapes that `checkChat` lets pass. */
const CHATS = [foreign.chat.door, foreign.results.door];

/**
 * Returns the first mark of another shape on a message, such as `role "tool"`, and a sentence on the door for that shape; undefined
 * for pi's messages and for an unreadable one.
 */
function foreignMark(message) {
  return attempt(() => {
    const { role, type, content } = message ?? {};
    const block = Array.isArray(content) ? content.find(markOfBlock) : undefined;
    if (block !== undefined) return named("block", markOfBlock(block));
    const field = FIELDS.find(([name]) => message?.[name] !== undefined);
    if (field !== undefined) return named("field", field);
    // A message with a role may have a type of its own.
    if (role === undefined) return named("type", byName(TYPES, type));
    return named("role", byName(ROLES, role));
  });
}

/** Gemini and Bedrock name the kind of a block by its key. */
function markOfBlock(block) {
  const type = block?.type;
  if (type === undefined) return KEYS.find(([key]) => block?.[key] !== undefined);
  return byName(BLOCKS, type);
}

const byName = (marks, word) => marks.find(([name]) => name === word);

const named = (what, mark) => mark && { mark: `${what} "${mark[0]}"`, door: mark[1].door };

/** Throws for a message of another shape. */
function refuseForeign(message) {
  refuse(foreignMark(message), "a message", "not pi's");
}

/**
 * Throws for a message that is neither pi's, a session's nor one of OpenAI's chat: converting it would lose its content. Parts
 * beside a text repeat it.
 */
function checkChat(owner, messages) {
  for (const [i, message] of messages.entries()) {
    const found = foreignMark(message);
    const isRepeated = found?.mark === 'field "parts"' && typeof message.content === "string";
    if (!isRepeated && !CHATS.includes(found?.door))
      refuse(found, `${owner}: message ${i}`, "neither pi's, a session's nor of OpenAI's chat");
  }
}

function refuse(found, what, shape) {
  if (found === undefined) return;
  const error = new TypeError(`${what} has ${found.mark}, so the list is ${shape}; ${found.door}`);
  throw Object.assign(error, { code: "ERR_UNKNOWN_SHAPE", ...found });
}

module.exports = { checkChat, foreignMark, refuseForeign };
