// A recorded session to play: a longer one where the repository's neighbour has it, else the example that comes with it.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The example, which every clone has. */
export const EXAMPLE = path("../../examples/session.jsonl");
const LONGER = path("../../../shared/data/pi-session.jsonl");

/** The longest there is. */
export const RECORDING = existsSync(LONGER) ? LONGER : EXAMPLE;
