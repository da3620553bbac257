// `pi-strata/tokens`: encodings, chats, and js-tiktoken's class.
"use strict";

const { countChatTokens, encodeChat } = require("./chat.js");
const { encodingForModel, getEncoding, getEncodingNameForModel } = require("./encoding.js");
const { loadEncoding } = require("./load.js");
const { Tiktoken } = require("./js-tiktoken/index.js");

module.exports = {
  Tiktoken,
  countChatTokens,
  encodeChat,
  encodingForModel,
  getEncoding,
  getEncodingNameForModel,
  loadEncoding,
};
