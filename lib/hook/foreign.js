// Recognises messages of another agent's shape by their marks. The hook would damage such a list.
"use strict";

const { attempt } = require("../helpers.js");
const { foreign } = require("../contract.js");

/** The sentence on the entry that takes a shape, by each mark of one kind. */
const marksOf = (kind) =>
  new Map(
    Object.values(foreign).flatMap(({ door, [kind]: marks = [] }) => marks.map((mark) => [mark, door])),
  );
const [ROLES, TYPES, FIELDS, BLOCKS, KEYS] = ["roles", "types", "fields", "blocks", "keys"].map(marksOf);
/** Shapes that `checkChat` lets pass. */
const CHATS = [foreign.chat.door, foreign.results.door];

/**
 * Returns the first mark of another shape on a message, such as `role "tool"`, and the sentence on its entry, `door`; undefined for
 * pi's messages and for an unreadable one.
 */
function foreignMark(message) {
  return attempt(() => {
    const { role, type, content } = message ?? {};
    const block = Array.isArray(content) ? content.find(markOfBlock) : undefined;
    if (block !== undefined) return markOfBlock(block);
    const field = named("field", FIELDS, nameIn(FIELDS, message));
    // A message with a role may have a type of its own.
    return field ?? (role === undefined ? named("type", TYPES, type) : named("role", ROLES, role));
  });
}

/** Gemini and Bedrock name the kind of a block by its key. */
function markOfBlock(block) {
  if (block?.type === undefined) return named("block", KEYS, nameIn(KEYS, block));
  return named("block", BLOCKS, block.type);
}

const nameIn = (marks, object) => Array.from(marks.keys()).find((name) => object?.[name] !== undefined);

const named = (what, marks, word) =>
  marks.has(word) ? { mark: `${what} "${word}"`, door: marks.get(word) } : undefined;

/** Throws for a message of another shape. */
function refuseForeign(message) {
  refuse(foreignMark(message), "a message", "not pi's");
}

/**
 * Throws for a message that is neither pi's, a session's nor one of OpenAI's chat: converting it would lose its content. `parts`
 * beside a text only repeat it.
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
