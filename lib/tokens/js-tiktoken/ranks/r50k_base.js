// The ranks of r50k_base, as js-tiktoken exports them.
"use strict";

module.exports = require("../ranks.js").ranksOf("r50k_base");
