// The ranks of o200k_base, as js-tiktoken exports them.
"use strict";

module.exports = require("../ranks.js").ranksOf("o200k_base");
