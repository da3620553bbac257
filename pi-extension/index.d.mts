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
 * Makes an extension with these options of the hook. They override the user's settings: `strata` in pi's settings files, and
 * PI_STRATA. Window, cache prices, price steps and the size above which pi compacts default to what pi
 * reports, `marker` to "auto". Unless `recall` is false the model has the tool that reads back what was shortened, from pi's
 * session file.
 * The extension throws a TypeError for a wrong option when pi loads it.
 * @example export default createExtension({ economy: "thrifty", marker: "en" });
 */
export function createExtension(options?: TransformContextOptions): Extension;

/**
 * Resolves with messages of at most `tokens` for a fork that another model continues, or else with the smallest valid list
 * (`onEvent`: `contextOverflow`). Returns a list that fits as it is.
 * Never changes a message in place. It sets the options `contextWindow`, `contextRatio`, `reserveTokens`, `economy` and `cache`
 * itself.
 * @throws TypeError for a wrong option or size, and for a list with anything but pi's messages; an Error with a `code` if the
 *   hook fails.
 * @example const fork = await shrink(messages, 60_000);
 */
export function shrink<M extends MessageLike>(
  messages: M[],
  tokens: number,
  options?: TransformContextOptions,
): Promise<M[]>;

/** The status line for what a call did. */
export function statusLine(event: Extract<StrataEvent, { type: "transformed" | "failed" }>): string;

/** The extension with the user's settings, and every other option at its default. */
declare const extension: Extension;
export default extension;
