// Loads the command-line tool; apart from pi-strata.js because an old Node cannot read `import()`.
"use strict";

import("./cli.mjs").catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
