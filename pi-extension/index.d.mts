// The extension's surface. Structural, so that no pi package is imported: pi's `ExtensionAPI` fits `ExtensionHost`.

import type { StrataEvent, TransformContextOptions } from "../index.js";

/** The part of pi's ExtensionAPI that is used. */
export interface ExtensionHost {
  // biome-ignore lint/suspicious/noExplicitAny: pi overloads `on` per event; only `any` accepts all of its versions
  on(event: any, handler: any): void;
  // biome-ignore lint/suspicious/noExplicitAny: the command's context differs from version to version
  registerCommand?(name: string, command: any): void;
  // biome-ignore lint/suspicious/noExplicitAny: the tool's context differs from version to version
  registerTool?(tool: any): void;
}

export type Extension = (pi: ExtensionHost) => void;

/**
 * An extension with these options of the hook, on top of what the user set under `strata` in pi's settings files and in
 * PI_STRATA. The context window defaults to that of the model in use, the markers to English unless the locale is Chinese.
 * With `recall: true` the model gets the tool, too, by which it reads back what was shortened.
 * @example export default createExtension({ economy: "thrifty", marker: "en" });
 */
export function createExtension(options?: TransformContextOptions): Extension;

/** What a call did, as the status line shows it. */
export function statusLine(event: Extract<StrataEvent, { type: "transformed" | "failed" }>): string;

/** The extension with the user's settings, and every other option at its default. */
declare const extension: Extension;
export default extension;
