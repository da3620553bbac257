// `pi-strata/tokens`: encodings, chats, and js-tiktoken's class.
"use strict";

exports.Tiktoken = require("./js-tiktoken/index.js").Tiktoken;
exports.countChatTokens = require("./chat.js").countChatTokens;
exports.encodeChat = require("./chat.js").encodeChat;
exports.encodingForModel = require("./encoding.js").encodingForModel;
exports.getEncoding = require("./encoding.js").getEncoding;
exports.getEncodingNameForModel = require("./encoding.js").getEncodingNameForModel;
exports.loadEncoding = require("./load.js").loadEncoding;
