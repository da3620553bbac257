// js-tiktoken's "lite" entry. It loads as much as the other one: neither reads ranks.
"use strict";

const { Tiktoken, getEncodingNameForModel } = require("./index.js");

module.exports = { Tiktoken, getEncodingNameForModel };
