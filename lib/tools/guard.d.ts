/**
 * `pi-strata/guard`: a cap on tool results and a budget. Lengths are UTF-16 code units, sizes tokens.
 * @module guard
 */

import type { MessageLike, TransformContext } from "../../index.js";

export interface GuardOptions {
  /** The model's context window in tokens, or a function asked at each call. */
  contextWindow: number | (() => number | undefined);
  /** Takes the place of `contextWindow` unless null. Default null. */
  contextWindowOverride?: number | null;
  /** Tokens of the window kept free for the answer. Default 8192; ignored where it leaves no room at all. */
  reserveTokens?: number;
  /** Only longer tool results are cut. UTF-16 code units, default 50 000. */
  maxToolResultChars?: number;
  /** The part of their beginning that stays. UTF-16 code units, default 2000; less where both ends do not fit into the cap. */
  truncateHeadChars?: number;
  /** The part of their end that stays. UTF-16 code units, default 2000; less where both ends do not fit into the cap. */
  truncateTailChars?: number;
  /** False hands everything back as it came. Default true. */
  enabled?: boolean;
  /** cl100k tokens (default), or three code units each as `estimateTokens` counts. */
  counting?: "exact" | "chars";
  /** Told what was done, each event with a line ready to be logged. It may throw or be slow: nothing changes. */
  onEvent?: (event: GuardEvent) => void;
}

export type GuardEvent =
  | {
      level: "warn";
      type: "toolResultTruncated";
      message: string;
      toolName: string;
      charsBefore: number;
      charsAfter: number;
    }
  | { level: "warn"; type: "messagesDropped"; message: string; dropped: number; droppedTokens: number }
  /** The hook resolved with its input. */
  | { level: "warn"; type: "contextWindowUnknown"; message: string; contextWindow: number }
  | { level: "warn"; type: "failed"; message: string; code: string };

/**
 * A text over `maxToolResultChars` as its head and tail around `... [N characters truncated] ...`; any other as it is.
 * Surrogate pairs stay whole. A number is `maxToolResultChars`; head and tail shrink where they do not fit into it.
 * @throws TypeError for what is no string and for options that are not allowed.
 * @example truncateToolResult(output, 10_000)
 */
export function truncateToolResult(
  text: string,
  options?: number | Pick<GuardOptions, "maxToolResultChars" | "truncateHeadChars" | "truncateTailChars">,
): string;

/**
 * Cuts every long tool result, then drops the oldest rounds (a user message with all that follows until the next)
 * until the rest fits into `contextWindow - reserveTokens`. System messages always stay, and so does the newest
 * message; when the newest round alone is too long, its question and its newest calls stay. OpenAI's messages and those of
 * a session are read too, and cut in their own shape. `droppedTokens` is what
 * the dropped messages had as they came; `truncated` tells of the results that are still there.
 * @returns the same array if nothing was done; messages not cut are the same objects.
 * @throws (rejects) TypeError for options that are not allowed, ERR_NATIVE_UNAVAILABLE, ERR_INVALID_INPUT.
 * @example const { messages, dropped } = await guardContext(history, { contextWindow: getContextWindow(model) })
 */
export function guardContext<M extends MessageLike>(
  messages: M[],
  options: GuardOptions,
): Promise<{
  messages: M[];
  dropped: number;
  droppedTokens: number;
  truncated: { toolName: string; charsBefore: number; charsAfter: number }[];
}>;

/**
 * `guardContext` as a hook, alone or before the layers. Like every hook here it never throws or rejects.
 * @throws TypeError for options that are not allowed.
 * @example new Agent({ transformContext: createContextGuard({ contextWindow: 128_000, onEvent: (e) => log.warn(e.message) }) })
 */
export function createContextGuard(options: GuardOptions): TransformContext;
