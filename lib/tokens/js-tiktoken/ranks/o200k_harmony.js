// The ranks of o200k_harmony, as js-tiktoken exports them.
"use strict";

module.exports = require("../ranks.js").ranksOf("o200k_harmony");
