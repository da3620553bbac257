// The public surface of pi-strata. Lengths are UTF-16 code units (JavaScript's `.length`), sizes are tokens, times are ms.

/** Anything shaped like a pi AgentMessage, of any pi version. Structural, so no pi package is imported. */
export interface MessageLike {
  role: string;
  content?: unknown;
  timestamp?: number;
}

/** pi-agent-core's `transformContext` hook. Never throws, never rejects, never changes what it is given. */
export type TransformContext = <M extends MessageLike>(messages: M[], signal?: AbortSignal) => Promise<M[]>;

// ── the hook ────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The hook with every option at its default.
 * @example new Agent({ transformContext })
 */
export const transformContext: TransformContext;

/**
 * Makes a hook. It resolves with the same array if nothing is edited; messages that are not edited are the same
 * objects, an edited one is a shallow copy in which only `content` differs. On any failure, and on abort, it resolves
 * with the input array itself and reports through `onEvent`.
 * @throws TypeError for an option that is unknown or not allowed; it names the option, the value and what is allowed.
 * @example new Agent({ transformContext: createTransformContext({ contextWindow: () => agent.state.model.contextWindow }) })
 */
export function createTransformContext(options?: TransformContextOptions): TransformContext;

export interface TransformContextOptions {
  /** The model's context window in tokens, or a function asked at each call. Default 200 000. */
  contextWindow?: number | (() => number);
  /** Share of the window above which the oldest groups are dropped. Default 0.75; lower it for models that fade early. */
  contextRatio?: number;
  /** Newest tool results that keep their full text. Default 6. */
  keepRecentToolResults?: number;
  /** Newest assistant messages with thinking that keep it. Default 1; 0 strips all that may be stripped. */
  keepRecentThinking?: number;
  /** Newest messages that the sliding window never drops. Default 20. */
  keepRecentMessages?: number;
  /** Lines kept from the beginning of a summarised tool result. Default 3. */
  summaryHeadLines?: number;
  /** Lines kept from its end. Default 2; raise it where errors come last. */
  summaryTailLines?: number;
  /** Only longer tool results are summarised. UTF-16 code units, default 500. */
  minSummaryChars?: number;
  /** A longer kept line is cut to this. UTF-16 code units, default 500. */
  summaryLineChars?: number;
  /** The line that says what was left out: Chinese (default), English, or your own (it must return a string). */
  marker?: "zh" | "en" | ((omittedLines: number, originalChars: number) => string);
  /** Names of tools whose results are never summarised or cut. Default none. */
  excludeTools?: string[];
  /** "closedTurns" keeps the thinking of everything after the last user message. Default "all". */
  thinkingScope?: "all" | "closedTurns";
  /** What happens when the request would not fit even so: shrink on (default), or leave it to the provider. */
  overflow?: "shrink" | "keep";
  /** Tokens of the window kept free for the answer. Default 8192; ignored where it leaves no room at all. */
  reserveTokens?: number;
  /** Tokens one image is counted as. Default 1200. */
  imageTokens?: number;
  /** Learn from the transcript's own usage how the provider counts. Default true; false is plain cl100k. */
  calibrate?: boolean;
  /**
   * When the layers may move. "everyCall" recomputes them at each call, which breaks the provider's prompt cache at each
   * call. "sticky" edits in batches, when that pays, and keeps edited bytes as they are. "auto" (default) is sticky as
   * soon as the transcript shows a working cache (`usage.cacheRead > 0`), else every call.
   */
  schedule?: "auto" | "everyCall" | "sticky";
  /**
   * The provider's prompt cache: prices relative to input (`read` 0.1, `write` 1.25) and seconds an entry lives unread
   * (`ttlSeconds` 300). The defaults are Anthropic's; OpenAI: read 0.1 to 0.5, write 1.
   */
  cache?: { read?: number; write?: number; ttlSeconds?: number };
  /** How sticky weighs the bill against memory: it sets the high and the low water. Default "balanced". */
  economy?: "faithful" | "balanced" | "thrifty";
  /** Share of the window above which sticky moves whatever that costs; overrides `economy`. */
  highWater?: number;
  /** Share of the window near which a sticky batch ends; below `highWater`; overrides `economy`. */
  lowWater?: number;
  /** Told what each call did. It may throw, reject or be slow: nothing changes. Never holds text of the conversation. */
  onEvent?: (event: StrataEvent) => void;
}

/** Newest tool results that keep their full text. */
export const KEEP_RECENT_TOOL_RESULTS: 6;
/** Newest assistant messages with thinking that keep it. */
export const KEEP_RECENT_THINKING: 1;
/** Share of the context window above which the window slides. */
export const CONTEXT_RATIO: 0.75;
/** Newest messages that the sliding window never drops. */
export const KEEP_RECENT_MESSAGES: 20;
/** Lines kept from the beginning of a summarised tool result. */
export const SUMMARY_HEAD_LINES: 3;
/** Lines kept from the end of a summarised tool result. */
export const SUMMARY_TAIL_LINES: 2;

/** `index` is the position in the array the hook was given; tokens are the estimate of what the provider counts. */
export type StrataEvent =
  /** One per call: what came in, what goes out, how long the main thread was held and how long it all took. */
  | {
      type: "transformed";
      messagesBefore: number;
      messagesAfter: number;
      tokensBefore: number;
      tokensAfter: number;
      schedule: "everyCall" | "sticky";
      reason: string;
      blockedMs: number;
      totalMs: number;
    }
  | {
      type: "toolResultSummarized";
      index: number;
      toolCallId: string;
      toolName: string;
      charsBefore: number;
      charsAfter: number;
      tokensSaved: number;
    }
  | { type: "thinkingStripped"; index: number; blocks: number; tokensSaved: number }
  /** A run of neighbours, `from` and `to` included. */
  | { type: "messagesDropped"; from: number; to: number; count: number; tokensSaved: number }
  /** Layer 4 acted: `step` is what it did. */
  | { type: "shrunk"; step: string; tokensSaved: number }
  /** The request is over `contextWindow - reserveTokens` whatever is done; `floorTokens` is the least it can be. */
  | { type: "contextOverflow"; tokens: number; contextWindow: number; floorTokens: number }
  /** Something that would brick the session was left out. */
  | { type: "repaired"; index: number; rule: string }
  /** The hook resolved with its input. Codes: ERR_NATIVE_UNAVAILABLE, ERR_INVALID_INPUT, ERR_INTERNAL. */
  | { type: "failed"; code: string; message: string };

/**
 * A dry run: what the hook would do now, and why. Edits nothing.
 * @throws TypeError for options that are not allowed; ERR_NATIVE_UNAVAILABLE where the native addon cannot be loaded.
 * @example (await explain(agent.state.messages)).schedule.why
 */
export function explain<M extends MessageLike>(
  messages: M[],
  options?: TransformContextOptions,
): Promise<Explanation>;

export interface Explanation {
  /** Estimated prompt tokens of the transcript as it is. */
  tokensBefore: number;
  /** Estimated prompt tokens of what would be sent. */
  tokensAfter: number;
  /** Tokens above which the window slides. */
  thresholdTokens: number;
  /** Provider tokens per cl100k token, as learned from the transcript. */
  scale: number;
  schedule: {
    mode: "everyCall" | "sticky";
    /** Why the frontier moves now, or waits. */
    why: string;
    /** Index after the last edited message. */
    frontier: number;
    /** Tokens a batch could be expected to remove now. */
    removableTokens: number;
    /** Paid since the last batch for carrying them, in input tokens. */
    carriedCost: number;
    /** What rewriting the rest would cost, in input tokens; the frontier moves when `carriedCost` reaches it. */
    rewriteCost: number;
    /** Whether nothing is left in the provider's cache, so that a move is free. */
    cacheCold: boolean;
  };
  edits: {
    index: number;
    layer: 1 | 2 | 3 | 4;
    action: "summarize" | "stripThinking" | "drop" | "truncate";
    reason: string;
    tokensSaved: number;
  }[];
}

// ── counting ────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Exact cl100k_base tokens. Special-token text is ordinary text, a lone surrogate counts as U+FFFD. Of a message: its
 * texts, thinking, tool-call names and arguments, 1200 per image; 0 for messages pi does not send.
 * @throws ERR_NATIVE_UNAVAILABLE where the native addon cannot be loaded; TypeError for anything else than the above.
 * @example countTokens("hello world") // 2
 */
export function countTokens(input: string | MessageLike | MessageLike[]): number;

/** `countTokens` off the main thread. */
export function countTokensAsync(input: string | MessageLike | MessageLike[]): Promise<number>;

/**
 * True as soon as `input` is known to be at most `limit` tokens; stops counting when it is not.
 * @example fitsTokens(prompt, 8192)
 */
export function fitsTokens(input: string | MessageLike[], limit: number): boolean;

/**
 * The encoder, with js-tiktoken's surface.
 * @throws RangeError for any other name.
 * @example getEncoding("cl100k_base").encode("hello world") // [15339, 1917]
 */
export function getEncoding(name: "cl100k_base"): Encoding;

export interface Encoding {
  /** Tokens of `text`. A special token is ordinary text, unless allowed (then it is one token) or disallowed (then this throws). */
  encode(text: string, allowedSpecial?: string[] | "all", disallowedSpecial?: string[] | "all"): number[];
  /** The text of `tokens`; bytes that are no UTF-8 become U+FFFD. Throws for a number that is no token. */
  decode(tokens: number[]): string;
  /** How many tokens `encode(text)` has, without making them. */
  countTokens(text: string): number;
}

/**
 * What a provider would refuse in `messages`, oldest message first; empty if nothing.
 *
 * `api` is pi's name of the wire, such as "anthropic-messages"; without it, that of the newest assistant message
 * decides. Some rules exist on one wire only. What two requests have to do with each other cannot be seen here.
 * @throws TypeError if `messages` is no array.
 * @example validate([{ role: "toolResult", toolCallId: "a", toolName: "ls", content: [] }])[0].rule // "orphan-result"
 */
export function validate<M extends MessageLike>(messages: M[], api?: string): Problem[];

/**
 * `messages` made valid with the fewest losses: messages or single blocks are left out, half surrogate pairs become
 * U+FFFD, nothing is added or reordered. What is not touched is the same object; nothing to do, the same array. A
 * transcript that only waits for the user (`ends-on-reply`, `trailing-space`) is left alone.
 * @throws TypeError if `messages` is no array.
 */
export function repair<M extends MessageLike>(messages: M[], api?: string): M[];

/** A message that breaks a rule. */
export interface Problem {
  /** Position of the message. */
  index: number;
  /** The rule, such as "orphan-result" or "unanswered-call". */
  rule: string;
  /** What the provider answers. Never text of the conversation. */
  message: string;
}

/** A model's context window in tokens; 200 000 where it names none. */
export function getContextWindow(model: { contextWindow?: number }): number;

/** Whether the native addon is loaded; if not, what is wrong and how to mend it. Never throws. */
export function status(): {
  native: boolean;
  version: string;
  platform: string;
  error?: string;
  hint?: string;
};
