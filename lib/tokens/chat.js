// Tokens of chats in OpenAI's form: the messages, and what the wire puts around them.
"use strict";

const { native } = require("../native/native.js");
const { TABLE } = require("./encodings.js");
const { encodeText } = require("./ids.js");
const { encodingForName, encodingIn, numberOf, shown } = require("./models.js");

/** Tokens around each message, for a name, and of the answer's beginning, as OpenAI's cookbook publishes them. */
const RULES = { perMessage: 3, perName: 1, answer: 3 };
/** The first gpt-3.5-turbo put a line's end around each message, and a name in place of the role. */
const FIRST_RULES = { perMessage: 4, perName: -1, answer: 3 };

function countChatTokens(messages, options) {
  const rules = options?.model === "gpt-3.5-turbo-0301" ? FIRST_RULES : RULES;
  const encoding = numberOf(chatEncoding(options));
  const count = (text) => native().countText(text, encoding);
  let total = rules.answer;
  for (const { role, content, name } of checkedChat("countChatTokens", messages)) {
    total += rules.perMessage + count(role) + count(content);
    if (name !== undefined) total += rules.perName + count(name);
  }
  return total;
}

function encodeChat(messages, options) {
  const encoding = chatEncoding(options);
  const { chat: marks } = TABLE[encoding] ?? {};
  if (marks === undefined) {
    throw new RangeError(
      `encodeChat: ${encoding} has no chats; those that have are ${withChats().join(", ")}`,
    );
  }
  const tokens = [];
  const add = (text) => {
    const { ids, count } = encodeText(text, encoding);
    for (let at = 0; at < count; at += 1) tokens.push(ids[at]);
  };
  for (const { role, content, name } of checkedChat("encodeChat", messages)) {
    tokens.push(marks.start);
    add(name ?? role);
    tokens.push(marks.separator);
    add(content);
    tokens.push(marks.end);
  }
  tokens.push(marks.start);
  add("assistant");
  tokens.push(marks.separator);
  return tokens;
}

function withChats() {
  return Object.keys(TABLE).filter((name) => TABLE[name].chat !== undefined);
}

/** By default that of gpt-4o, which most chats are for. */
function chatEncoding(options) {
  if (typeof options === "string") return encodingForName(options);
  const isSaid = options?.encoding !== undefined || options?.model !== undefined;
  return isSaid ? encodingIn(options) : "o200k_base";
}

function checkedChat(call, messages) {
  if (!Array.isArray(messages)) {
    throw new TypeError(`${call}: messages is ${shown(messages)}; it must be an array of { role, content }`);
  }
  messages.forEach((message, index) => {
    for (const field of ["role", "content", "name"]) {
      const value = message?.[field];
      if (typeof value === "string" || (field === "name" && value === undefined)) continue;
      throw new TypeError(`${call}: ${field} of message ${index} is ${shown(value)}; it must be a string`);
    }
  });
  return messages;
}

module.exports = { countChatTokens, encodeChat };
