// The exports of js-tiktoken, under its names and with its behaviour, for `"js-tiktoken"` to be an alias of this file.
"use strict";

const { checkEncoding, encodingForName } = require("../models.js");
const { ranksOf } = require("./ranks.js");
const { Tiktoken } = require("./tiktoken.js");

function getEncoding(encoding, extendSpecialTokens) {
  return new Tiktoken(ranksOf(checkEncoding(encoding)), extendSpecialTokens);
}

function encodingForModel(model, extendSpecialTokens) {
  return getEncoding(encodingForName(model), extendSpecialTokens);
}

function getEncodingNameForModel(model) {
  return encodingForName(model);
}

module.exports = { Tiktoken, encodingForModel, getEncoding, getEncodingNameForModel };
