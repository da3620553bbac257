// The ranks of p50k_base, as js-tiktoken exports them.
"use strict";

module.exports = require("../ranks.js").ranksOf("p50k_base");
