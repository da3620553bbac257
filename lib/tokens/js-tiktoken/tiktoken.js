// js-tiktoken's class, with its signature and its defaults: special-token text throws unless it is allowed.
"use strict";

const { Encoding } = require("../encoding.js");
const { shown } = require("../models.js");
const { encodingOfRanks, isOurs } = require("./ranks.js");

class Tiktoken extends Encoding {
  constructor(ranks, extendedSpecialTokens) {
    if (typeof ranks !== "object" || ranks === null) {
      throw new TypeError(`Tiktoken: ranks is ${shown(ranks)}; import one of js-tiktoken/ranks/*`);
    }
    super(encodingOfRanks(ranks), {
      special: isOurs(ranks) ? undefined : ranks.special_tokens,
      extended: extendedSpecialTokens,
      isStrict: true,
    });
  }
}

module.exports = { Tiktoken };
