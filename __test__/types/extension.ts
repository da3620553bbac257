// The extension is one of pi's own kind.

import extension, { createExtension } from "pi-strata/pi-extension";
import type { ExtensionFactory } from "../coding-agent/node_modules/@earendil-works/pi-coding-agent/dist/index.js";

extension satisfies ExtensionFactory;
createExtension({ economy: "thrifty", marker: "en" }) satisfies ExtensionFactory;
// @ts-expect-error an option that does not exist
createExtension({ economies: "thrifty" });
