// Messages of a pipeline as rows of a table, and back: role and text in columns that anyone may read, tool calls,
// results and images beside them as JSON. Checks what a host hands over; reads and writes nothing itself.
"use strict";

const { count, show } = require("../options.js");
const { isPlain } = require("../sessions/text.js");

const ROLES = ["system", "user", "assistant", "tool"];
const COMPRESSION_FIELDS = ["original_count", "compressed_count", "max_messages", "max_chars_per_message"];
/** UTF-16 units of a chat's name: with an index over it, every database takes that. */
const MAX_CHAT_ID_CHARS = 256;

const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const tableName = {
  allowed: "the name of a table: letters, digits and _, at most 63",
  accepts: (value) => typeof value === "string" && TABLE_NAME.test(value),
};

/** A chat's name: a whole number, or a text; one that writes a whole number is that number. */
function checkChatId(method, chatId) {
  if (Number.isSafeInteger(chatId)) return chatId;
  const isName = typeof chatId === "string" && chatId !== "" && chatId.length <= MAX_CHAT_ID_CHARS;
  if (!isName || !isPlain(chatId)) {
    throw new TypeError(
      `${method}: chatId is ${show(chatId)}; it must be a whole number or a text of at most ${MAX_CHAT_ID_CHARS} characters, without NUL and lone surrogates`,
    );
  }
  const number = Number(chatId);
  return Number.isSafeInteger(number) && String(number) === chatId ? number : chatId;
}

/** A message as `{ role, text, extra }`; `extra` is undefined where the text says it all. */
function toRow(method, message) {
  const { role, content, blocks, toolCalls, toolCallId, isError, original } = message ?? {};
  if (!ROLES.includes(role) || typeof content !== "string") {
    throw new TypeError(
      `${method}: message must be { role: ${ROLES.join(" | ")}, content: string }; its role is ${show(role)}`,
    );
  }
  const extra = {
    blocks: Array.isArray(blocks) ? blocks : undefined,
    toolCalls: Array.isArray(toolCalls) && toolCalls.length > 0 ? toolCalls : undefined,
    toolCallId,
    isError: isError === true || undefined,
    original,
  };
  const json = written(method, extra);
  return { role, text: content, extra: json === "{}" ? undefined : json };
}

function written(method, extra) {
  try {
    return JSON.stringify(extra);
  } catch {
    throw new TypeError(`${method}: the calls or blocks of the message cannot be written as JSON`);
  }
}

/** The message of a row; undefined for a row that is none. */
function fromRow({ role, text, extra }) {
  if (typeof role !== "string" || typeof text !== "string") return undefined;
  if (extra === undefined || extra === null) return { role, content: text };
  try {
    const { content = text, ...more } = JSON.parse(extra);
    return { role, content, ...more };
  } catch {
    return undefined;
  }
}

function checkCompression(method, fields) {
  const row = {};
  for (const name of COMPRESSION_FIELDS) {
    const value = fields?.[name];
    if (!count.accepts(value)) {
      throw new TypeError(`${method}: ${name} is ${show(value)}; it must be ${count.allowed}`);
    }
    row[name] = value;
  }
  return row;
}

module.exports = {
  checkChatId,
  checkCompression,
  fromRow,
  tableName,
  toRow,
};
