// The Node versions that `npm run install:nested` brings: `nodeBinary("node24")` is the path of one.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const nodes = createRequire(new URL("../nodes/package.json", import.meta.url));

export function nodeBinary(name) {
  const manifest = nodes.resolve(`${name}/package.json`);
  return join(dirname(manifest), nodes(manifest).bin.node);
}
