// js-tiktoken's "lite" entry. Here it loads no less than the other: no ranks are read in either.
"use strict";

const { Tiktoken, getEncodingNameForModel } = require("./index.js");

module.exports = { Tiktoken, getEncodingNameForModel };
