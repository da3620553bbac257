/**
 * `pi-strata/guard`: a cap on tool results and a budget. Lengths are UTF-16 code units, sizes tokens. Messages may be
 * pi's, OpenAI's (chat or Responses items), Anthropic's, the AI SDK's `ModelMessage`, and messages with `toolCalls` and
 * `toolResults`. A part of an unknown type stays, and its JSON counts.
 * @module guard
 */

import type { TransformContext } from "../../index.js";

export { estimateTokens, getContextWindow } from "../../index.js";

/** UTF-16 code units: 50 000, 2000 and 2000. */
export const DEFAULT_TOOL_RESULT_MAX_CHARS: number;
export const TRUNCATE_HEAD_CHARS: number;
export const TRUNCATE_TAIL_CHARS: number;

export interface GuardOptions {
  /** The model's context window in tokens, or a function asked at each call. */
  contextWindow: number | (() => number | undefined);
  /** Takes the place of `contextWindow` unless null. Default null. */
  contextWindowOverride?: number | null;
  /** Tokens of the window kept free for the answer. Default 8192, or a quarter of a smaller window. */
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
 * until the rest fits into `contextWindow - reserveTokens`. Synchronous. System messages and the newest message stay. Where
 * the newest round alone is too long, its question and its newest calls stay. A call and its results stay or go together.
 * `droppedTokens` counts dropped messages as they came; `truncated` lists the cut results that are still there.
 * @returns the same array if nothing was done; messages that are not cut are the same objects.
 * @throws TypeError for options that are not allowed and for messages of another shape; ERR_NATIVE_UNAVAILABLE.
 * @example const { messages, dropped } = guardContext(history, { contextWindow: getContextWindow(model) })
 */
export function guardContext<M extends object>(
  messages: M[],
  options: GuardOptions,
): {
  messages: M[];
  dropped: number;
  droppedTokens: number;
  truncated: { toolName: string; charsBefore: number; charsAfter: number }[];
};

/**
 * Tokens of messages of any of these shapes: of each text its length in thirds, rounded up, or exactly. Counted are texts,
 * thinking and calls; of `toolCalls` and of a result's `data` the JSON, of a failed result the error.
 * @throws TypeError for messages of another shape
 * @example estimateContextTokens(history, { counting: "exact" })
 */
export function estimateContextTokens(messages: object[], options?: { counting?: "exact" | "chars" }): number;

/**
 * `guardContext` as a hook, alone or before the layers; it counts off the main thread. Like every hook here it never throws
 * or rejects: it resolves with its input where `guardContext` throws, and `onEvent` gets `failed`.
 * @throws TypeError for options that are not allowed.
 * @example new Agent({ transformContext: createContextGuard({ contextWindow: 128_000, onEvent: (e) => log.warn(e.message) }) })
 */
export function createContextGuard(options: GuardOptions): TransformContext;
