// js-tiktoken's exports with its behaviour. A bundler can make `js-tiktoken` an alias of this file.
"use strict";

const { show } = require("../../options.js");
const { Encoding } = require("../encoding.js");
const { checkEncoding, encodingForName } = require("../models.js");
const { encodingOfRanks, isOurs, ranksOf } = require("./ranks.js");

/** js-tiktoken's class: text of special tokens throws unless it is allowed. */
class Tiktoken extends Encoding {
  constructor(ranks, extendedSpecialTokens) {
    if (typeof ranks !== "object" || ranks === null) {
      throw new TypeError(`Tiktoken: ranks is ${show(ranks)}; import one of js-tiktoken/ranks/*`);
    }
    super(encodingOfRanks(ranks), {
      special: isOurs(ranks) ? undefined : ranks.special_tokens,
      extended: extendedSpecialTokens,
      isStrict: true,
    });
  }
}

function getEncoding(encoding, extendSpecialTokens) {
  return new Tiktoken(ranksOf(checkEncoding(encoding)), extendSpecialTokens);
}

function encodingForModel(model, extendSpecialTokens) {
  return getEncoding(encodingForName(model), extendSpecialTokens);
}

module.exports = { Tiktoken, encodingForModel, getEncoding, getEncodingNameForModel: encodingForName };
