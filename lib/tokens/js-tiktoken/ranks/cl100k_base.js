// The ranks of cl100k_base, as js-tiktoken exports them.
"use strict";

module.exports = require("../ranks.js").ranksOf("cl100k_base");
