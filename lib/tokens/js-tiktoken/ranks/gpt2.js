// The ranks of gpt2, as js-tiktoken exports them.
"use strict";

module.exports = require("../ranks.js").ranksOf("gpt2");
