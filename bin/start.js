// Loads the command-line tool. It is a file of its own because an old Node cannot parse `import()`.
"use strict";

import("./cli.mjs").catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
