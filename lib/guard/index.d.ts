/**
 * `pi-strata/guard`: a cap on tool results and a budget. Lengths are UTF-16 code units, sizes tokens. Messages may be
 * pi's, OpenAI's (chat or Responses items), Anthropic's, the AI SDK's `ModelMessage`, and messages with `toolCalls` and
 * `toolResults`. A part of an unknown type stays, and its JSON counts.
 * @module guard
 */

import type { TransformContext } from "../../index.js";

export { estimateTokens, getContextWindow } from "../../index.js";

/** Default of `maxToolResultChars`: 50 000. */
export const DEFAULT_TOOL_RESULT_MAX_CHARS: number;
/** Default of `truncateHeadChars`: 2000. */
export const TRUNCATE_HEAD_CHARS: number;
/** Default of `truncateTailChars`: 2000. */
export const TRUNCATE_TAIL_CHARS: number;

/** The options of `guardContext` and `createContextGuard`. */
export interface GuardOptions {
  /** The model's context window in tokens, or a function called at each call. */
  contextWindow: number | (() => number | undefined);
  /** Overrides `contextWindow` unless null. Default null. */
  contextWindowOverride?: number | null;
  /** Tokens of the window kept free for the answer. Default 8192, at most a quarter of the window. */
  reserveTokens?: number;
  /** Only longer tool results are cut. UTF-16 code units, default 50 000. */
  maxToolResultChars?: number;
  /** Length of their kept beginning. UTF-16 code units, default 2000; less if both ends do not fit into the cap. */
  truncateHeadChars?: number;
  /** Length of their kept end. UTF-16 code units, default 2000; less if both ends do not fit into the cap. */
  truncateTailChars?: number;
  /** False returns the messages as they are. Default true. */
  enabled?: boolean;
  /** cl100k tokens (default), or three code units each as `estimateTokens` counts. */
  counting?: "exact" | "chars";
  /** Receives events. `message` is a line for the log. A slow or throwing listener changes nothing. */
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
  | { level: "warn"; type: "optionFailed"; option: "contextWindow"; message: string }
  /** The hook resolved with its input. */
  | { level: "warn"; type: "failed"; message: string; code: string };

/**
 * Cuts a text over `maxToolResultChars` to its head and tail around `... [N characters truncated] ...`. Returns a shorter text as
 * it is. Surrogate pairs stay whole. A number is `maxToolResultChars`. Head and tail shrink if they do not fit into it.
 * @throws TypeError for anything but a string, and for options that are not allowed.
 * @example truncateToolResult(output, 10_000)
 */
export function truncateToolResult(
  text: string,
  options?: number | Pick<GuardOptions, "maxToolResultChars" | "truncateHeadChars" | "truncateTailChars">,
): string;

/**
 * Cuts every long tool result, then drops the oldest rounds until the rest fits into `contextWindow - reserveTokens`. A round is
 * a user message and all that follows it, up to the next one. Synchronous. System messages and the newest message stay. If the
 * newest round alone is too long, its question and its newest calls stay. A call and its results stay or go together.
 * `droppedTokens` counts the dropped messages, with their results cut; `truncated` lists the cut results that are kept.
 * @returns the same array if nothing changed. Uncut messages are the same objects.
 * @throws TypeError for options that are not allowed, for messages of Gemini, Bedrock and LangChain, UIMessages, and entries
 * that are no objects; ERR_NATIVE_UNAVAILABLE.
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
 * Counts the tokens of messages in any of these shapes: a third of each text's length, rounded up, or with "exact" by cl100k.
 * Texts, thinking and calls count; `toolCalls` and a result's `data` count as JSON, a failed result as its error.
 * @throws TypeError for messages of another shape
 * @example estimateContextTokens(history, { counting: "exact" })
 */
export function estimateContextTokens(messages: object[], options?: { counting?: "exact" | "chars" }): number;

/**
 * Returns `guardContext` as a hook, alone or before the layers. It counts off the main thread. It never throws or rejects: where
 * `guardContext` throws, it resolves with its input, and `onEvent` gets `failed`.
 * @throws TypeError for options that are not allowed.
 * @example new Agent({ transformContext: createContextGuard({ contextWindow: 128_000, onEvent: (e) => log.warn(e.message) }) })
 */
export function createContextGuard(options: GuardOptions): TransformContext;
