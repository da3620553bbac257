// The extension is one of pi's own kind, in every version it says it works in.

import extension, { createExtension } from "pi-strata/pi-extension";
import type { ExtensionFactory } from "../coding-agent/node_modules/@earendil-works/pi-coding-agent/dist/index.js";
import type { ExtensionFactory as Factory73 } from "../coding-agent/node_modules/pi-coding-agent-0.73/dist/index.js";
import type { ExtensionFactory as Factory16 } from "../coding-agent/node_modules/pi-coding-agent-1.6/dist/index.js";

extension satisfies ExtensionFactory;
extension satisfies Factory73;
extension satisfies Factory16;
createExtension({ economy: "thrifty", marker: "en" }) satisfies ExtensionFactory;
// @ts-expect-error an option that does not exist
createExtension({ economies: "thrifty" });
