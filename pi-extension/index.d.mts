// The extension's surface. Structural, so that no pi package is imported: pi's `ExtensionAPI` fits `ExtensionHost`.

import type { MessageLike, StrataEvent, TransformContextOptions } from "../index.js";

/** The part of pi's ExtensionAPI that is used. */
export interface ExtensionHost {
  // biome-ignore lint/suspicious/noExplicitAny: pi overloads `on` per event; only `any` accepts all of its versions
  on(event: any, handler: any): void;
  // biome-ignore lint/suspicious/noExplicitAny: the command's context differs from version to version
  registerCommand?(name: string, command: any): void;
  // biome-ignore lint/suspicious/noExplicitAny: the tool's context differs from version to version
  registerTool?(tool: any): void;
  appendEntry?(customType: string, data?: unknown): void;
}

export type Extension = (pi: ExtensionHost) => void;

/**
 * An extension with these options of the hook, on top of what the user set under `strata` in pi's settings files and in
 * PI_STRATA. Window, cache prices and price steps default to what pi's catalogue says of the model in use, the markers to
 * English unless the locale is Chinese. Unless `recall` is false the model has the tool by which it reads back what was
 * shortened, from pi's own session file.
 * @example export default createExtension({ economy: "thrifty", marker: "en" });
 */
export function createExtension(options?: TransformContextOptions): Extension;

/**
 * The messages with at most `tokens` in them, for a fork that another model goes on with; the same array where they fit. The
 * hook's contract holds: nothing is changed in place, and it never rejects.
 * @example const fork = await shrink(messages, 60_000);
 */
export function shrink<M extends MessageLike>(
  messages: M[],
  tokens: number,
  options?: TransformContextOptions,
): Promise<M[]>;

/** What a call did, as the status line shows it. */
export function statusLine(event: Extract<StrataEvent, { type: "transformed" | "failed" }>): string;

/** The extension with the user's settings, and every other option at its default. */
declare const extension: Extension;
export default extension;
