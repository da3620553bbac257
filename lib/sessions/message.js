// Checks the messages of a session, `{ role: system | user | assistant | tool, content }`, and copies them through JSON, so that
// a message read from a database equals the added one.
"use strict";

const { createHash, randomUUID: newId } = process.getBuiltinModule?.("node:crypto") ?? require("node:crypto");
const { attempt } = require("../helpers.js");
const { show } = require("../options.js");
const { checkNoResults, isPlain, plainText, written } = require("../shapes/text.js");

const ROLES = new Set(["system", "user", "assistant", "tool"]);
/** Longest message id, UTF-16 units: databases index it. */
const ID_UNITS = 128;
/** Longest session id that is used as a key, UTF-16 units: Postgres indexes at most 2 700 bytes. */
const KEY_UNITS = 200;
const HASHED = "sha256:";

const list = { allowed: "an array", accepts: Array.isArray };
const object = { allowed: "an object", accepts: (value) => typeof value === "object" };
/** Fields that only some messages have. They are copied as JSON. */
const COPIED = { blocks: list, toolCalls: list, original: object };
/** Fields that OpenAI's messages do not have. */
const OWN = new Set(["id", "timestamp", "isError", "toolCallId", ...Object.keys(COPIED)]);

/** Returns the key of a session in a database: its id, or a hash of an id that a database cannot hold or index. */
function keyOf(sessionId) {
  if (typeof sessionId !== "string")
    throw new TypeError(`sessionId must be a string, not ${show(sessionId)}`);
  const isKey = sessionId.length <= KEY_UNITS && isPlain(sessionId) && !sessionId.startsWith(HASHED);
  if (isKey) return sessionId;
  return `${HASHED}${createHash("sha256").update(JSON.stringify(sessionId)).digest("hex")}`;
}

/** Returns a frozen copy of a host's message with id and timestamp. Throws a TypeError that names a wrong field. */
function checkMessage(message) {
  const fields = checkedFields(message);
  const { id, timestamp } = message;
  return Object.freeze({ id: idOf(id), timestamp: timeOf(timestamp), ...fields });
}

/** Returns a copy of a host's message without id and timestamp. Throws a TypeError that names a wrong field. */
function checkedFields(message) {
  // OpenAI has other names for two fields, and null for the text of an answer that only calls tools.
  const { tool_calls: openaiCalls, tool_call_id: openaiCallId } = message ?? {};
  const { role, toolCalls = openaiCalls, toolCallId = openaiCallId } = message ?? {};
  const content = message?.content ?? (Array.isArray(toolCalls) ? "" : undefined);
  checkNoResults(message);
  if (!ROLES.has(role))
    throw new TypeError(`message.role must be system, user, assistant or tool, not ${show(role)}`);
  const isText = typeof content === "string";
  if (!isText && !(Array.isArray(content) && content.length > 0 && content.every(isBlock)))
    throw new TypeError(
      'message.content must be a string, or an array of { type: "text", text } and { type: "image", data, mimeType }',
    );
  const { isError, original = originalOf(message) } = message;
  const blocks = isText ? message.blocks : content;
  const copy = {
    role,
    content: isText ? content : plainText(content),
    ...copiesOf({ blocks: addsNothing(blocks) ? undefined : blocks, toolCalls, original }),
  };
  if (toolCallId != null) copy.toolCallId = String(toolCallId);
  if (typeof isError === "boolean") copy.isError = isError;
  return copy;
}

/** Returns the fields of OpenAI's message that this form does not have, such as a model's reasoning, as far as JSON can say them. */
function originalOf({ role, content, tool_calls, tool_call_id, ...others }) {
  const more = Object.entries(others).filter(([name, value]) => !OWN.has(name) && saysMore(value));
  const isOpenAI = tool_calls?.length > 0 || tool_call_id != null;
  return isOpenAI && more.length > 0 ? { role, ...Object.fromEntries(more) } : undefined;
}

const saysMore = (value) => !["null", "[]", undefined].includes(attempt(() => written(value)));

/** True for blocks whose text is all in the content. */
const addsNothing = (blocks) => Array.isArray(blocks) && blocks.every((block) => block?.type === "text");

/** Returns copies of the fields that a message has. */
function copiesOf(fields) {
  const given = Object.entries(fields).filter(([, value]) => value != null);
  return Object.fromEntries(given.map(([name, value]) => [name, jsonCopy(name, value)]));
}

function idOf(id) {
  if (id == null) return newId();
  if (typeof id === "string" && id !== "" && id.length <= ID_UNITS && isPlain(id)) return id;
  throw new TypeError(`message.id must be a string of 1 to ${ID_UNITS} characters, not ${show(id)}`);
}

function timeOf(timestamp) {
  if (timestamp == null) return new Date().toISOString();
  if (typeof timestamp === "string" && Number.isFinite(Date.parse(timestamp))) return timestamp;
  throw new TypeError(`message.timestamp must be a date as ISO 8601 writes it, not ${show(timestamp)}`);
}

function isBlock(block) {
  const { type, text, data, mimeType } = block ?? {};
  if (type === "text") return typeof text === "string";
  return type === "image" && typeof data === "string" && typeof mimeType === "string";
}

function jsonCopy(name, value) {
  const { allowed, accepts } = COPIED[name];
  if (!accepts(value)) throw new TypeError(`message.${name} must be ${allowed}`);
  const copy = attempt(() => parsed(written(value)));
  if (copy !== undefined) return copy;
  throw new TypeError(`message.${name} must be what JSON can say, without cycles or BigInts`);
}

/** Parses JSON and freezes the value deeply. */
function parsed(text) {
  const value = JSON.parse(text);
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue;
    for (const inner of Object.values(Object.freeze(next))) open.push(inner);
  }
  return value;
}

module.exports = { ROLES, checkMessage, checkedFields, isBlock, keyOf, parsed };
