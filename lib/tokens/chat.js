// Counts and encodes chats in OpenAI's form: the messages and the tokens around them.
"use strict";

const { native } = require("../native/native.js");
const { show } = require("../options.js");
const { getEncoding } = require("./encoding.js");
const { TABLE, encodingForName, encodingIn, numberOf } = require("./models.js");

/** Tokens around each message, for a name, and for the beginning of the answer (OpenAI's cookbook). */
const RULES = { perMessage: 3, perName: 1, answer: 3 };
/** The first gpt-3.5-turbo has one more around each message, and a name replaces the role. */
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
    const withChats = Object.keys(TABLE).filter((name) => TABLE[name].chat !== undefined);
    throw new RangeError(`encodeChat: ${encoding} has no chats; those that have are ${withChats.join(", ")}`);
  }
  const encode = (text) => getEncoding(encoding).encode(text);
  const head = (who) => [marks.start, ...encode(who), marks.separator];
  const chat = checkedChat("encodeChat", messages);
  const said = chat.map(({ role, content, name }) => [...head(name ?? role), ...encode(content), marks.end]);
  return [...said, head("assistant")].flat();
}

/** Returns the name of an encoding. The default is gpt-4o's, which most chats use. */
function chatEncoding(options) {
  if (typeof options === "string") return encodingForName(options);
  const isGiven = options?.encoding !== undefined || options?.model !== undefined;
  return isGiven ? encodingIn(options) : "o200k_base";
}

function checkedChat(call, messages) {
  if (!Array.isArray(messages)) {
    throw new TypeError(`${call}: messages is ${show(messages)}; it must be an array of { role, content }`);
  }
  messages.forEach((message, index) => {
    for (const field of ["role", "content", "name"]) {
      const value = message?.[field];
      if (typeof value === "string" || (field === "name" && value === undefined)) continue;
      throw new TypeError(`${call}: ${field} of message ${index} is ${show(value)}; it must be a string`);
    }
  });
  return messages;
}

module.exports = { countChatTokens, encodeChat };
