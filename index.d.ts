// The public surface of pi-strata. Lengths are UTF-16 code units (JavaScript's `.length`), sizes are tokens, times are ms.
import type { Store, StoreEvent } from "./lib/sessions/store/store.js";

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
  /**
   * The model's context window in tokens, or a function asked at each call. Default 200 000, also where the function
   * names none; give the function.
   */
  contextWindow?: number | (() => number | undefined);
  /**
   * Share of the window above which the oldest groups are dropped. Default 0.75; lower it for models that fade
   * early.
   */
  contextRatio?: number;
  /**
   * Newest tool results that keep their full text. Default 6 messages; raise it where many files are read side by
   * side.
   */
  keepRecentToolResults?: number;
  /** Newest assistant messages with thinking that keep it. Default 1 message; 0 strips all that may be stripped. */
  keepRecentThinking?: number;
  /**
   * Newest images of old tool results that stay. Default 8 images; each older one becomes a line that says so. Images in
   * user messages always stay. Whatever stands here, a request holds no more images, and no larger ones, than its provider
   * takes.
   */
  keepRecentImages?: number;
  /** Newest messages that the sliding window never drops. Default 20; raise it for long chains of small steps. */
  keepRecentMessages?: number;
  /** Lines kept from the beginning of a summarised tool result. Default 3; raise it where a header tells most. */
  summaryHeadLines?: number;
  /** Lines kept from its end. Default 2; raise it where errors come last. */
  summaryTailLines?: number;
  /**
   * Only longer tool results are summarised. UTF-16 code units, default 500; less saves little, a summary has its
   * size too.
   */
  minSummaryChars?: number;
  /** A longer kept line shows its first 7/10 and its end around `…`, this much in all. UTF-16 code units, default 500; raise it for logs whose lines are long. */
  summaryLineChars?: number;
  /**
   * The line that says what was left out: "zh" (default), "en", or your own (it must return a string). "auto" writes in the
   * language of the conversation: Chinese where the first user message, or a summary before it, is Chinese.
   */
  marker?: "zh" | "en" | "auto" | ((omittedLines: number, originalChars: number) => string);
  /** Names of tools whose results are never summarised or cut. Default none; name those the model has to quote. */
  excludeTools?: string[];
  /**
   * Messages that nothing is done to: true keeps one as it is, with the call it answers or the results that answer it, in
   * every layer. Asked once per message, when it is first seen; a copy that holds the same is the same message. Where it throws,
   * the message is protected. Default none.
   * @example createTransformContext({ protect: (message) => message.details?.pinned === true })
   */
  // biome-ignore lint/suspicious/noExplicitAny: a host's own messages have fields of their own
  protect?: (message: any) => boolean;
  /**
   * True ends each marker with the handle by which the tool of `createRecallTool` finds the original. Default
   * false; give both or neither.
   */
  recall?: boolean;
  /**
   * "closedTurns" keeps the thinking of everything after the last user message. Default "all"; for long turns of
   * planning.
   */
  thinkingScope?: "all" | "closedTurns";
  /** When the request would not fit even so: "shrink" on (default), or "keep" it, where the host compacts by itself. */
  overflow?: "shrink" | "keep";
  /**
   * Tokens of the window kept free for the answer. Default 8192; take your `maxTokens`. At most a quarter of the window
   * is kept free, whatever stands here.
   */
  reserveTokens?: number;
  /**
   * Provider tokens of what you send beside the messages: system prompt and tools. A function is asked at every call; what
   * is no number from 0 on counts as not said. Without it they are learned from the first reported usage, and until then
   * taken for 0. Messages of role "system" count by themselves.
   * @example createTransformContext({ overheadTokens: countTokens(systemPrompt) + countTokens(JSON.stringify(tools)) })
   */
  overheadTokens?: number | (() => number | undefined);
  /**
   * The encoding texts are counted by. "auto" (default): that of the model which answered last, if it is one of OpenAI's,
   * else cl100k_base; calibration goes on top. Another encoding than before means counting every message anew.
   */
  encoding?: "auto" | TiktokenEncoding;
  /** Tokens one image is counted as. Default 1200; take what your provider bills. */
  imageTokens?: number;
  /**
   * Learn from the transcript's own usage how the provider counts. Default true; false is plain cl100k, for
   * comparisons.
   */
  calibrate?: boolean;
  /**
   * When the layers may move. "everyCall" recomputes them at each call, which breaks the provider's prompt cache at each
   * call. "sticky" edits in batches, when that pays, and keeps edited bytes as they are. "auto" (default) is
   * "sticky": a server that reports no cached tokens is taken to have a prefix cache without a time to live. A batch may
   * keep of an old tool result only the lines worth their tokens, word for word and in order, with a marker line for
   * each gap.
   */
  schedule?: "auto" | "everyCall" | "sticky";
  /**
   * The provider's prompt cache: prices relative to input (`read`, `write`) and seconds an entry lives unread
   * (`ttlSeconds`). "auto" (default) learns them from the transcript's own `usage.cost`, `usage.cacheWrite1h` and cache
   * reads, per model; what those do not tell comes from a table by the names of provider and model. An object sets them:
   * of the prices it leaves out Anthropic's hold (0.1, 1.25), a time to live it leaves out is learned. A function is asked
   * at every call; where it returns anything else, or throws, it is as "auto".
   *
   * @example
   * createTransformContext({ cache: () => ({ read: agent.state.model.cost.cacheRead / agent.state.model.cost.input }) });
   */
  cache?: CacheOption | (() => CacheOption | undefined);
  /**
   * When the host sent the latest request again to keep the provider's cache alive (a cache warmer), in ms since 1970, or a
   * function that says it at each call: a gap that was kept warm is not taken for a cold cache. All of a conversation's, so
   * that a restarted process decides as the first one did. Default: none.
   */
  warmedAt?: number[] | (() => number[] | undefined);
  /**
   * When the host gave the provider's cache up, in ms since 1970, or a function that says it at each call: the first call
   * after such a time is taken for one on a cold cache, where a batch is free. For a host that changed its tools, or whose
   * user finished a task and wants the context cut now. All of a conversation's, as for `warmedAt`. Default: none.
   */
  coldAt?: number[] | (() => number[] | undefined);
  /**
   * Most tokens a prompt should have, whatever the window, or a function that says it at each call: for models that
   * charge every token more above a size, set it just below. Default: none. Nothing fails above it; batches and the
   * sliding window act there as they do at their shares of the window.
   *
   * @example
   * createTransformContext({ contextWindow: 1_000_000, maxPromptTokens: 195_000 });
   */
  maxPromptTokens?: number | (() => number);
  /**
   * How sticky weighs the bill against memory: it sets the high and the low water. Default "balanced"; try others
   * with `pi-strata replay --html`.
   */
  economy?: "faithful" | "balanced" | "thrifty";
  /**
   * Share of the window, at most of 200,000 tokens, above which sticky moves whatever that costs; overrides `economy`. Lower it for models
   * that fade early.
   */
  highWater?: number;
  /**
   * Share of the window, at most of 200,000 tokens, near which a sticky batch ends; below `highWater`; overrides `economy`. Lower moves less
   * often and forgets more.
   */
  lowWater?: number;
  /**
   * Told what each call did. It may throw, reject or be slow: nothing changes. Never holds text of the
   * conversation.
   */
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
  /** The first `images` images of a tool result are left out. */
  | {
      type: "imagesOmitted";
      index: number;
      toolCallId: string;
      toolName: string;
      images: number;
      tokensSaved: number;
    }
  | { type: "thinkingStripped"; index: number; blocks: number; tokensSaved: number }
  /** A run of neighbours, `from` and `to` included. */
  | { type: "messagesDropped"; from: number; to: number; count: number; tokensSaved: number }
  /** Layer 4 acted: `step` is what it did. */
  | { type: "shrunk"; step: string; tokensSaved: number }
  /** The request is over `contextWindow - reserveTokens` whatever is done; `floorTokens` is the least it can be. */
  | { type: "contextOverflow"; tokens: number; contextWindow: number; floorTokens: number }
  /**
   * The report of the last call shows that it read less from the provider's cache than the call before had put there:
   * `tokens` were not read, which cost `dollars` more, where a price is known. `cause`: see `Ledger`. At most once per call,
   * with the first transcript that holds its report.
   */
  | { type: "cacheMiss"; cause: CacheMissCause; tokens: number; dollars?: number }
  /** Something that would brick the session was left out. */
  | { type: "repaired"; index: number; rule: string }
  /** `contextWindow()` threw or named no number above 0: once per hook, with the cause and the window taken instead. */
  | { type: "contextWindowUnknown"; contextWindow: number; message: string }
  /** `marker` or `protect` threw, or answered with what it may not: once per hook and option, with the cause. */
  | { type: "optionFailed"; option: "marker" | "protect"; message: string }
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

/** The prices and time to live of a provider's prompt cache, or "auto" to learn them. */
export type CacheOption = "auto" | { read?: number; write?: number; ttlSeconds?: number };

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
    /** Calls after which a batch has paid for itself: as worked out, else as expected; Infinity where it never has. */
    paybackCalls: number;
    /** Calls expected before the cache is lost anyway, as the session's calls came so far: a batch that needs more waits. */
    expectedCalls: number;
    /** Whether nothing is left in the provider's cache, so that a move is free. */
    cacheCold: boolean;
  };
  edits: {
    index: number;
    layer: 1 | 2 | 3 | 4;
    /** `keepLines`: of a tool result only the lines in `ranges` stay, word for word. */
    action: "summarize" | "keepLines" | "omitImages" | "stripThinking" | "drop" | "truncate";
    /** For `keepLines`: the lines that stay, as `[first, after the last]`, counted from 0. */
    ranges?: [number, number][];
    /** For `keepLines`: how many lines stay for which reason, in words. */
    kept?: { lines: number; why: string }[];
    /** How many of its images, the first ones, are left out, whatever else is done. */
    images?: number;
    reason: string;
    tokensSaved: number;
  }[];
}

/**
 * The bill, read back from the transcript's own usage: what was paid, what the provider's cache missed and why, what the
 * hook cost and saved. Give the options of the hook that sent it: the schedule is played over the transcript once more, and
 * tells what was sent at every call. Where the reported sizes show that the hook was not at work, nothing is put down to
 * it. Off the main thread; edits nothing. Dollars are US dollars; tokens are the provider's, as reported.
 * @throws TypeError for options that are not allowed; ERR_NATIVE_UNAVAILABLE where the native addon cannot be loaded.
 * @example (await ledger(agent.state.messages, options)).dollars // { billed, estimated, withoutHook, saved }
 */
export function ledger<M extends MessageLike>(messages: M[], options?: LedgerOptions): Promise<Ledger>;

export interface LedgerOptions extends TransformContextOptions {
  /**
   * Dollars per million tokens, for all models and what no bill tells. The others follow from `input` (a tenth, 1.25 times,
   * 5 times). Default: as billed (`usage.cost`), else from a list by the model's name.
   */
  prices?: { input: number; read?: number; write?: number; output?: number };
}

/**
 * Why a call read less from the cache than it could have: `hook`, an edit of ours; `expired`, too long since the last call;
 * `model`, another model or provider; `host`, the host changed what stood there (a compaction, another system prompt);
 * `provider`, nothing was changed and no time had passed.
 */
export type CacheMissCause = "hook" | "expired" | "model" | "host" | "provider";

export interface Ledger {
  /** Assistant messages, failed ones too. */
  calls: number;
  /** Calls without a usable usage: they are in no sum. */
  unreportedCalls: number;
  /** Calls without a price: their tokens count, their dollars do not. */
  unpricedCalls: number;
  /** Calls of which the hook had left something out. */
  editedCalls: number;
  /** Calls that would have been larger than the window without the hook; `withoutHook` takes them as if they had fitted. */
  callsOverWindow: number;
  tokens: { prompt: number; cacheRead: number; cacheWrite: number; output: number };
  /** Share of all prompt tokens that came from the cache. */
  hitRate: number;
  dollars: {
    /** What was paid, answers included. */
    billed: number;
    /** The part of it that no `usage.cost` told: reckoned from prices, for instance on a subscription, which says 0. */
    estimated: number;
    /** Estimated: what the whole transcript would have cost at every call. */
    withoutHook: number;
    /** `withoutHook` less `billed`. */
    saved: number;
  };
  /** Every miss, oldest first. */
  misses: {
    /** The call, from 1. */
    call: number;
    /** Position of its answer. */
    index: number;
    cause: CacheMissCause;
    /** Tokens that could have been read, and were not. */
    tokens: number;
    /** What they cost beyond being read; undefined without a price. */
    dollars?: number;
  }[];
  /** Every call at which the hook changed what it had sent before, oldest first. */
  moves: {
    /** The call, from 1. */
    call: number;
    /** Position of its answer. */
    index: number;
    reason: string;
    /** Tokens it took out, estimated. */
    tokens: number;
    /** Tokens that had to be written anew for it. */
    rewritten: number;
    /** What that cost, in dollars. */
    cost: number;
    /** What the tokens it took out would have cost from that call on, in dollars: all `saved` less all `cost` is `dollars.saved`. */
    saved: number;
  }[];
  /** How far off our predictions were, as shares of what was reported: half are within `median`, 95 of 100 within `p95`. */
  predicted: {
    prompt: { count: number; median: number; p95: number };
    cacheRead: { count: number; median: number; p95: number };
  };
}

// ── counting ────────────────────────────────────────────────────────────────────────────────────────────────

/** The encodings there are; gpt2 is r50k_base. */
export type TiktokenEncoding =
  | "cl100k_base"
  | "o200k_base"
  | "o200k_harmony"
  | "p50k_base"
  | "p50k_edit"
  | "r50k_base"
  | "gpt2";

/** By what is counted; cl100k_base where neither is said. */
export interface CountOptions {
  /** The encoding itself. */
  encoding?: TiktokenEncoding;
  /** An OpenAI model whose encoding it is, such as "gpt-5-mini", "openai/gpt-4o" or "ft:gpt-4o:us::id". */
  model?: string;
}

/**
 * Exact tokens, by cl100k_base unless another encoding or a model is named. Special-token text is ordinary text, a lone
 * surrogate counts as U+FFFD. Of a message: its texts, thinking, tool-call names and arguments, 1200 per image; 0 for
 * messages pi does not send.
 * @throws ERR_NATIVE_UNAVAILABLE where the native addon cannot be loaded; TypeError for anything else than the above;
 * an error that names the nearest for an unknown encoding or model.
 * @example countTokens("hello world") // 2
 * @example countTokens("hello world", { model: "gpt-5-mini" }) // 2, by o200k_base
 */
export function countTokens(input: string | MessageLike | MessageLike[], options?: CountOptions): number;

/** `countTokens` off the main thread. */
export function countTokensAsync(
  input: string | MessageLike | MessageLike[],
  options?: CountOptions,
): Promise<number>;

/**
 * True as soon as `input` is known to be at most `limit` tokens; stops counting when it is not.
 * @example fitsTokens(prompt, 8192)
 */
export function fitsTokens(input: string | MessageLike[], limit: number, options?: CountOptions): boolean;

/**
 * The tokens of `input`, or false as soon as they are known to be more than `limit`: gpt-tokenizer's call. A list of
 * `{ role, content }` with texts as contents is a chat, counted as `countChatTokens` does.
 * @example isWithinTokenLimit(prompt, 8192) // 311
 */
export function isWithinTokenLimit(
  input: string | ChatMessage[] | MessageLike[],
  limit: number,
  options?: CountOptions,
): number | false;

/** A message of a chat as OpenAI's API takes it. */
export interface ChatMessage {
  role: string;
  content: string;
  name?: string;
}

/**
 * Tokens of a chat's prompt, as OpenAI's cookbook publishes the rule: 3 around each message, 1 for a name, 3 for the
 * beginning of the answer. By o200k_base where nothing else is said.
 * @throws TypeError for a message without a text.
 * @example countChatTokens([{ role: "user", content: "hi" }], { model: "gpt-4o" }) // 8
 */
export function countChatTokens(messages: ChatMessage[], options?: CountOptions): number;

/**
 * Tokens of a chat's prompt with its marks, ready for the answer: gpt-tokenizer's call. A name takes the role's place.
 * @throws RangeError for an encoding without chats (p50k_base, p50k_edit, r50k_base).
 * @example encodeChat([{ role: "user", content: "hi" }], { model: "gpt-4o" }).length // 8
 */
export function encodeChat(messages: ChatMessage[], options?: CountOptions | string): number[];

/**
 * An encoder, with js-tiktoken's calls. Special-token text is ordinary text to it, unless it is said otherwise;
 * `pi-strata/js-tiktoken` has one that throws on it, as js-tiktoken does.
 * @throws RangeError for another name.
 * @example getEncoding("o200k_base").encode("hello world") // [24912, 2375]
 */
export function getEncoding(name: TiktokenEncoding, extendedSpecialTokens?: Record<string, number>): Encoding;

/**
 * The encoder of an OpenAI model.
 * @throws Error that names the nearest known model.
 * @example encodingForModel("gpt-5-mini").name // "o200k_base"
 */
export function encodingForModel(model: string, extendedSpecialTokens?: Record<string, number>): Encoding;

/** The name of a model's encoding. Throws as `encodingForModel` does. */
export function getEncodingNameForModel(model: string): TiktokenEncoding;

export interface Encoding {
  /** The name it was asked for by. */
  readonly name: TiktokenEncoding;
  /**
   * Tokens of `text`. Text of a special token in `allowedSpecial` becomes that token; any text in `disallowedSpecial`
   * throws, allowed or not; other special-token text is ordinary text. "all" names every special token, for
   * `disallowedSpecial` all that are not allowed.
   */
  encode(text: string, allowedSpecial?: string[] | "all", disallowedSpecial?: string[] | "all"): number[];
  /** The same as a `Uint32Array` of its own, which is made faster than a list of numbers. */
  encodeTyped(
    text: string,
    allowedSpecial?: string[] | "all",
    disallowedSpecial?: string[] | "all",
  ): Uint32Array;
  /**
   * The text of `tokens`; bytes that are no UTF-8 become U+FFFD. Throws for a number that is no token, with its
   * position.
   */
  decode(tokens: Iterable<number>): string;
  /** How many tokens `encode(text)` has without special ones, without making them. */
  countTokens(text: string): number;
  /** The lists of tokens of a long text, a part at a time; together they are those of `encode`. */
  encodeGenerator(
    text: string,
    allowedSpecial?: string[] | "all",
    disallowedSpecial?: string[] | "all",
  ): Generator<number[], number, undefined>;
  /** The text of tokens, a part at a time; no part ends within a character. */
  decodeGenerator(tokens: Iterable<number>): Generator<string, void, undefined>;
  /** The text of tokens as they arrive, one by one or in lists; a character is given once it is whole. */
  decodeAsyncGenerator(
    tokens: AsyncIterable<number | Iterable<number>>,
  ): AsyncGenerator<string, void, undefined>;
  /** Does nothing: there is nothing to free. */
  free(): void;
}

/** What js-tiktoken keeps ranks in; `pi-strata/js-tiktoken/ranks/*` export them. */
export interface TiktokenBPE {
  pat_str: string;
  special_tokens: Record<string, number>;
  bpe_ranks: string;
}

/**
 * js-tiktoken's class: an encoder that throws on special-token text unless it is allowed. Takes the ranks of
 * `pi-strata/js-tiktoken/ranks/*` or js-tiktoken's own.
 * @throws RangeError for ranks that are none of OpenAI's.
 */
export class Tiktoken implements Encoding {
  constructor(ranks: TiktokenBPE, extendedSpecialTokens?: Record<string, number>);
  readonly name: TiktokenEncoding;
  encode: Encoding["encode"];
  encodeTyped: Encoding["encodeTyped"];
  decode: Encoding["decode"];
  countTokens: Encoding["countTokens"];
  encodeGenerator: Encoding["encodeGenerator"];
  decodeGenerator: Encoding["decodeGenerator"];
  decodeAsyncGenerator: Encoding["decodeAsyncGenerator"];
  free: Encoding["free"];
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
 * `validate` off the main thread, for long transcripts: what stays on it is copying the texts, about a millisecond a
 * megabyte.
 *
 * Rejects with a TypeError if `messages` is no array.
 * @example (await validateAsync(agent.state.messages)).length // 0
 */
export function validateAsync<M extends MessageLike>(messages: M[], api?: string): Promise<Problem[]>;

/**
 * `messages` made valid with the fewest losses: messages or single blocks are left out, half surrogate pairs become
 * U+FFFD, nothing is added or reordered. What is not touched is the same object; nothing to do, the same array. A
 * transcript that only waits for the user (`ends-on-reply`, `trailing-space`) is left alone.
 * @throws TypeError if `messages` is no array.
 */
export function repair<M extends MessageLike>(messages: M[], api?: string): M[];

/**
 * `repair` off the main thread, likewise. What comes back is made of `messages` as they were at the call.
 *
 * Rejects with a TypeError if `messages` is no array.
 * @example agent.state.messages = await repairAsync(agent.state.messages);
 */
export function repairAsync<M extends MessageLike>(messages: M[], api?: string): Promise<M[]>;

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
export function getContextWindow(model?: { contextWindow?: number }): number;

/**
 * Whether the native addon is loaded; if not, what is wrong and how to mend it. Never throws.
 * @example const { native, error, hint } = status(); if (!native) console.error(`${error}. ${hint}`);
 */
export function status(): {
  native: boolean;
  version: string;
  /** System and processor, such as "linux-x64". */
  platform: string;
  /** What the system said when the file was loaded, in one line. Only where `native` is false. */
  error?: string;
  /** What to do about it. Only where `native` is false. */
  hint?: string;
  /** The package that holds this machine's native file. Only where `native` is false; absent where there is none. */
  package?: string;
};

// ── guard ───────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Tokens without tokenizing: three UTF-16 code units each, rounded up per text. Safe for English and code (about four
 * each), not for Chinese, Japanese or Korean (one or less): count those with `counting: "exact"`.
 * @example estimateTokens(prompt) < 8192
 */
export function estimateTokens(
  input: string | MessageLike | MessageLike[],
  options?: { counting?: "exact" | "chars" },
): number;

export interface GuardOptions {
  /** The model's context window in tokens, or a function asked at each call. */
  contextWindow: number | (() => number | undefined);
  /** Takes the place of `contextWindow` unless null. Default null. */
  contextWindowOverride?: number | null;
  /** Tokens of the window kept free for the answer. Default 8192; ignored where it leaves no room at all. */
  reserveTokens?: number;
  /** Only longer tool results are cut. UTF-16 code units, default 50 000. */
  maxToolResultChars?: number;
  /** What stays of their beginning. UTF-16 code units, default 2000; less where both ends do not fit into the cap. */
  truncateHeadChars?: number;
  /** What stays of their end. UTF-16 code units, default 2000; less where both ends do not fit into the cap. */
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

// ── pipeline ────────────────────────────────────────────────────────────────────────────────────────────────

/** A message of a chat: its words, and beside them what is not words. */
export interface PipelineMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  /** Words and images in their order, where there are images; parts that only OpenAI has stand here as they are. */
  blocks?: MessageBlock[];
  /** Arguments are a value, or the text itself where a model wrote no JSON, a bare string, or numbers too long. */
  toolCalls?: { id: string; name: string; arguments: unknown }[];
  /** Of a tool's answer: the call it answers. */
  toolCallId?: string;
  isError?: boolean;
  /** What OpenAI's message said beyond this; `toOpenAIMessages` gives it back. */
  original?: object;
}

export type MessageBlock =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "image_url" | "input_audio" | "file" | "refusal"; [field: string]: unknown };

/** Where a chat's history comes from. */
export interface Provider {
  /** The newest `limit` messages, oldest first. */
  getHistory(chatId: ChatId, limit: number): Promise<PipelineMessage[]>;
  /** Told when something was cut, if it is there. Nobody waits for it, and its failure fails nothing. */
  recordCompression?(event: CompressionEvent, chatId: ChatId): Promise<void>;
}

/**
 * A whole number, or a text of at most 256 characters without NUL and lone surrogates. A text that writes a whole number is
 * that number: "42" and 42 are one chat.
 */
export type ChatId = number | string;

/** What is kept of a history. */
export interface Compressor {
  compress(messages: PipelineMessage[]): PipelineMessage[] | Promise<PipelineMessage[]>;
}

/** How a request is put together. */
export interface Assembler {
  assemble(system: string, history: PipelineMessage[], userMessage: string): PipelineMessage[];
}

export interface CompressionEvent {
  original_count: number;
  compressed_count: number;
  max_messages: number;
  max_chars_per_message: number;
}

/** What a stored history may tell; where nobody listens, a process warning says it once. */
export type HistoryEvent =
  /** A damaged file was renamed when it was opened. */
  | { type: "database_set_aside"; message: string; path: string; setAside: string }
  /** Rows of a chat that are no messages (no role, no text, bytes) were passed over. */
  | { type: "rows_skipped"; message: string; chatId: ChatId; rows: number }
  /** The server cannot be reached and is tried again; `attempt` counts. */
  | { type: "storeReconnecting"; code: string; message: string; attempt: number };

/**
 * History in an embedded SQLite file: table `history(id, chat_id, role, text, extra, created_at)`, made if it is not
 * there, and table `events(id, chat_id, event_type, payload, created_at)` with a JSON payload. Tables a host made need
 * `id`, `chat_id`, `role`, `text` to be read, and `extra` for tool calls and images; those of events are used if they fit.
 * The file is made readable by its owner alone, uses a write-ahead log, and may be shared by processes. All work runs off
 * the main thread, in the order asked for; the file is opened by the first call. What is appended without waiting is
 * stored in one transaction.
 * Failures reject with a `code`: ERR_DATABASE_LOCKED, _READ_ONLY, _FULL, _FOREIGN (a table of another shape),
 * _CORRUPT, _CANNOT_OPEN, _BAD_PATH, _DISK, _CLOSED. A damaged file is renamed to `*.corrupt-N` when it is opened,
 * and a new one takes its place: `onEvent` hears of it, or a process warning does.
 * @example const provider = new SqliteProvider("chats.db"); await provider.append(42, { role: "user", content: "hi" });
 */
export class SqliteProvider implements Provider {
  /**
   * @param path a file name, or ":memory:"
   * @param options.historyTable name of the table of messages; default "history"
   * @param options.eventsTable name of the table of events; default "events"
   */
  constructor(
    path: string,
    options?: { historyTable?: string; eventsTable?: string; onEvent?: (event: HistoryEvent) => void },
  );
  getHistory(chatId: ChatId, limit: number): Promise<PipelineMessage[]>;
  /** Resolves with the row's id once the message is stored. A lone surrogate in the text is stored as U+FFFD. */
  append(chatId: ChatId, message: PipelineMessage): Promise<number>;
  /** Stores one `context.compressed` event. Waits a quarter of a second at most for other processes. */
  recordCompression(event: CompressionEvent, chatId?: ChatId): Promise<void>;
  /** Closes the file when what was asked so far is done, and resolves then. */
  close(): Promise<void>;
}

/** The way to a Postgres server, version 13 or newer: a connection string or a pool of the package pg, not both. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; what pg takes. Never shown in an error or event. */
  connectionString?: string;
  /** A `Pool` of the host's; it is left open. */
  pool?: object;
  /** Connections of the pool made here. Default 10. */
  poolSize?: number;
  /** How long a statement may take, ms. Default 10 000. */
  statementTimeoutMs?: number;
  /** How long a call is tried again while the server is away, ms; 0 for once. Default 30 000. */
  retryMs?: number;
}

/**
 * History in Postgres, in tables as `SqliteProvider` has them (`postgres.sql` says them); a host's may have other types.
 * Needs the package pg (`npm install pg`). While the server is away, calls wait and are tried again.
 * Failures reject with a `code`: ERR_DATABASE_UNAVAILABLE, _TIMEOUT, _AUTH, _CANNOT_OPEN, _PERMISSION, _READ_ONLY, _FULL,
 * _FOREIGN, _VALUE (a value the column cannot hold), _LOCKED, _CLOSED, _DRIVER (pg is missing); then nothing was stored.
 * With ERR_STORE_UNCERTAIN nobody knows: the server went away while it committed, and did not come back in time.
 * @throws TypeError for options that are not allowed; an Error with ERR_DATABASE_DRIVER
 * @example const provider = new PostgresProvider({ connectionString: process.env.DATABASE_URL });
 */
export class PostgresProvider implements Provider {
  /** Names of tables may have a schema: "app.messages". */
  constructor(
    options:
      | string
      | (PostgresOptions & {
          historyTable?: string;
          eventsTable?: string;
          onEvent?: (event: HistoryEvent) => void;
        }),
  );
  getHistory(chatId: ChatId, limit: number): Promise<PipelineMessage[]>;
  /** Resolves with the row's id once the message is stored. */
  append(chatId: ChatId, message: PipelineMessage): Promise<number>;
  /** Stores one `context.compressed` event. */
  recordCompression(event: CompressionEvent, chatId?: ChatId): Promise<void>;
  /** Closes the connections when what was asked so far is done, and resolves then. */
  close(): Promise<void>;
}

/**
 * Keeps the newest `maxMessages` (12), more where a tool's answer would lose its call, and of each at most
 * `maxCharsPerMessage` (4000 UTF-16 code units), ending in `…` where it was cut. Calls without an answer and answers without
 * their call go: a provider would refuse them. The same array comes back where nothing is cut.
 */
export class SimpleCompressor implements Compressor {
  constructor(options?: { maxMessages?: number; maxCharsPerMessage?: number });
  readonly maxMessages: number;
  readonly maxCharsPerMessage: number;
  compress(messages: PipelineMessage[]): PipelineMessage[];
}

/** The system prompt (unless empty), the history, the user's message. */
export class StandardAssembler implements Assembler {
  assemble(system: string, history: PipelineMessage[], userMessage: string): PipelineMessage[];
}

/** Provider, compressor and assembler, one after the other; each can be the host's own. */
export class Pipeline {
  /**
   * @param options.compressor default `new SimpleCompressor(pipelineConfigFromEnv())`
   * @param options.historyLimit messages read from the provider; default 38 more than the compressor's `maxMessages`
   * @param options.onEvent told when the provider could not record a cut; else a process warning says it
   */
  constructor(options: {
    provider: Provider;
    compressor?: Compressor;
    assembler?: Assembler;
    historyLimit?: number;
    onEvent?: (event: { type: "recordFailed"; code: string; message: string }) => void;
  });
  /**
   * The messages of a request. Where something was cut, the provider records it, once; the request does not wait for that.
   * @example const messages = toOpenAIMessages(await pipeline.prepare(42, "Be brief.", "And now?"))
   */
  prepare(chatId: ChatId, system: string, userMessage: string): Promise<PipelineMessage[]>;
}

/**
 * `TG_HISTORY_WINDOW` (12) and `MAX_CHARS_PER_MESSAGE` (4000) from the environment.
 * @throws TypeError where one is set and no whole number from 1 on.
 */
export function pipelineConfigFromEnv(env?: Record<string, string | undefined>): {
  maxMessages: number;
  maxCharsPerMessage: number;
};

/**
 * Messages of the pipeline, of a session or of pi in OpenAI's chat format, with tool calls and images. What pi does not
 * send (failed and aborted answers with their results, excluded commands) is left out; thinking is too. The sections of
 * pi's system messages are part of the prompt. OpenAI takes no images from a tool: they follow its answers in a user
 * message that names the call.
 */
export function toOpenAIMessages(messages: { role: string; content?: unknown }[]): OpenAIMessage[];

/**
 * The way back, and exact: `toOpenAIMessages(fromOpenAIMessages(messages))` equals `messages`, to the last character of
 * each argument.
 * @param messages `OpenAIMessage`s, or those of OpenAI's own package
 * @throws TypeError for a message whose role is none of OpenAI's; it says which.
 */
export function fromOpenAIMessages(messages: object[]): PipelineMessage[];

/** A message of OpenAI's chat completions. */
export interface OpenAIMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool";
  content?: unknown;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

// ── recall ──────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A pi `AgentTool` named `recall`, by which the model reads back what was summarised. Give the hook `recall: true`, so
 * that each marker ends with the handle. It answers with a page of at most 20 000 characters (8000 unless asked
 * otherwise) and the offset of the next, or with the matches of a pattern; a wrong handle is answered with the right ones,
 * or with what happened where the conversation was compacted since.
 * Patterns run in linear time and off the main thread; what is no pattern is searched literally.
 * @param messages asked at each use; the agent's own messages, which still hold every original
 * @throws TypeError if `messages` is no function.
 * @example const tools = [...myTools, createRecallTool(() => agent.state.messages)]
 */
export function createRecallTool(messages: () => MessageLike[]): RecallTool;

export interface RecallTool {
  name: "recall";
  label: string;
  description: string;
  // biome-ignore lint/suspicious/noExplicitAny: each pi version has a schema type of its own; this is plain JSON schema
  parameters: any;
  execute(
    toolCallId: string,
    // biome-ignore lint/suspicious/noExplicitAny: pi derives the parameters' type from the schema's
    params: any,
    signal?: AbortSignal,
  ): Promise<{ content: { type: "text"; text: string }[]; details: RecallDetails }>;
}

/** `next` is where to go on, in UTF-16 code units; null at the end. */
export type RecallDetails =
  | { found: true; handle: string; toolName: string; chars: number; next: number | null; matches?: number }
  | { found: false; handle: string };

// ── sessions ────────────────────────────────────────────────────────────────────────────────────────────────

/** What a message says beside text. `data` is base64. */
export type ContentBlock = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** A message of any provider: its words, with images, tool calls and their results beside them. */
export interface ConversationMessage {
  role: "system" | "user" | "assistant" | "tool";
  /** The words alone; an image stands in them as `[image]`. */
  content: string;
  /** What is said, in order, where there is an image in it. */
  blocks?: ContentBlock[];
  /**
   * Unique in its session, at most 128 UTF-16 code units; made when the message is added, where it is left out. Added twice
   * under one id, a message is kept once.
   */
  id?: string;
  /** ISO 8601; set when the message is added, where it is left out. */
  timestamp?: string;
  /** `{ id, name, arguments }`, or OpenAI's `{ id, function: { name, arguments } }`. */
  toolCalls?: unknown[];
  /** Of a tool's answer: the call it answers. */
  toolCallId?: string;
  /** Of a tool's answer: whether it says that the tool failed. */
  isError?: boolean;
  /** What another format said beyond this one, to be given back to it. */
  original?: object;
  /** What pi's own system message said beyond its words: `content`, `sections`, tools. */
  agentFields?: object;
}

/** A message to be added: its content may be blocks. */
export type NewConversationMessage = Omit<ConversationMessage, "content"> & {
  content: string | ContentBlock[];
};

export interface ConversationContext {
  sessionId: string;
  messages: ConversationMessage[];
  metadata: { goal?: string; planId?: string; createdAt: string; updatedAt: string };
}

/**
 * The host's own summariser: any model will do. It may throw, hang or answer with anything: rules take over then.
 * @param messages what is to be summarised
 * @param request a prompt that holds all of it, and how to sample; `signal` is aborted when time is up
 * @example async (_, { prompt, temperature, maxTokens, signal }) =>
 *   textOf(await complete(model, { messages: [user(prompt)] }, { temperature, maxTokens, signal }))
 */
export type Summarize = (
  messages: ConversationMessage[],
  request: { prompt: string; temperature: number; maxTokens: number; signal: AbortSignal },
) => Promise<string>;

export interface ContextManagerOptions {
  /**
   * Where sessions are kept: the path of an SQLite file, `postgres://user@host/database`, or a store of your own. Left
   * out: in memory only.
   */
  store?: string | Store;
  /** Sessions of one namespace never meet those of another. At most 200 characters; default "". */
  namespace?: string;
  /** A session with more messages is compressed. Default 50; at least three more than `maxCompressedMessages`. */
  maxMessages?: number;
  /**
   * Newest messages that a compression keeps; more where a tool's answer would lose its call. Default 20, or two fifths of
   * `maxMessages` where that is less.
   */
  maxCompressedMessages?: number;
  /** A session with more cl100k tokens is compressed, too. Default: no such limit. */
  maxTokens?: number;
  /** Tokens that the messages kept by a compression may have. Default half of `maxTokens`. */
  maxCompressedTokens?: number;
  /** What rules write in. Default "auto": the language of the conversation. */
  language?: "zh" | "en" | "auto";
  /** Makes the summaries. Left out: rules do. */
  summarize?: Summarize;
  /** How long a summariser may take, ms. Default 30 000. */
  summarizeTimeoutMs?: number;
  /** Longest prompt for the summariser, cl100k tokens. Default 16 000, at least 400. */
  summarizeTokens?: number;
  /** Told what happens. It may throw, reject or be slow: nothing changes. */
  onEvent?: (event: SessionEvent) => void;
}

/** All but "compressed" are said once by `process.emitWarning` where there is no `onEvent`. */
export type SessionEvent =
  /** `before` and `after` are messages; `by` is who made the summary. */
  | {
      type: "compressed";
      sessionId: string;
      before: number;
      after: number;
      by: "ai" | "rules";
      tokensSaved: number;
    }
  /** The summariser threw, hung or answered with nothing: rules took over. */
  | { type: "summarizeFailed"; sessionId: string; by: "rules"; code: string; message: string; cause: unknown }
  /** The file was damaged; it is kept under another name, and what could be read of it is in a new one. */
  | { type: "storeSetAside"; store: string; movedTo: string; salvaged: number; message: string }
  /** The server cannot be reached just now. */
  | { type: "storeReconnecting"; code: string; message: string; attempt: number }
  /**
   * A write that nobody may wait for failed: metadata, a system prompt, clearing, an attached agent's message. Or, with
   * `attempt`, the store could not be opened: the next call after `retryInMs` tries again.
   */
  | {
      type: "storeFailed";
      code: string;
      message: string;
      cause: unknown;
      attempt?: number;
      retryInMs?: number;
    }
  /** A compression failed; the session is as it was. */
  | { type: "compressFailed"; sessionId: string; code: string; message: string; cause: unknown };

/** A message that was found. `isCurrent` is false for one that the session let go when it was compressed. */
export interface SearchHit {
  sessionId: string;
  message: ConversationMessage;
  isCurrent: boolean;
}

/**
 * Many sessions side by side. Past `maxMessages` or `maxTokens` the system prompt and the newest messages of a session
 * stay, calls with their results, and what is between becomes one assistant message `[上下文总结] …`. A call that is never
 * answered ends when the user speaks.
 *
 * A message is safe from the death of the process as soon as `addMessage` resolves, and what was cleared as soon as
 * `clearContext` does; several processes may use one store and see what the others do. Any string is a session id.
 *
 * Methods that return a value at once read a file or memory here if the session is not known yet; on a server they
 * throw `ERR_NOT_LOADED` until `loadContext` was awaited, and then tell what was loaded and done here since. Those that
 * return a promise work on every store and leave this thread alone.
 * @throws TypeError for an option, id or message that is not allowed; an Error with a `code` of `ERR_DATABASE_…` for a
 *   store that cannot be used, and `ERR_CLOSED` after `close()`.
 * @example const manager = new ContextManager({ store: "sessions.db" });
 *   manager.getOrCreateContext("task-1", "You plan, execute and evaluate.");
 *   await manager.addMessage("task-1", { role: "user", content: "Ship it" });
 */
export class ContextManager {
  /**
   * The one manager of this process; a new one after it was closed. The call that makes it may give options, in memory
   * without any.
   * @throws TypeError where it was made with other options than these.
   */
  static getInstance(options?: ContextManagerOptions): ContextManager;
  /** A manager whose store is open; rejects where that fails. */
  static open(options?: ContextManagerOptions): Promise<ContextManager>;
  /** The store is opened off this thread, and what fails then is said by the first call that needs it. */
  constructor(options?: ContextManagerOptions);
  /** The session, made if there is none. A system prompt is taken only where the session has none yet. */
  getOrCreateContext(sessionId: string, systemPrompt?: string): ConversationContext;
  /** The same, read off this thread; resolves when a session or prompt that was made is stored. */
  loadContext(sessionId: string, systemPrompt?: string): Promise<ConversationContext>;
  /**
   * Adds a message, and compresses the session if it has too much now. Resolves when both are done and stored; rejects
   * if the message is not stored. A system message that opens a session is its prompt.
   */
  addMessage(sessionId: string, message: NewConversationMessage): Promise<void>;
  /** The messages of a session, with or without its system prompt; none for an unknown session. They are deeply frozen. */
  getMessages(sessionId: string, includeSystem?: boolean): ConversationMessage[];
  /** Compresses now. `by` is "none" where there is nothing to let go, or somebody else has just done it. */
  compressContext(
    sessionId: string,
    summarize?: Summarize,
  ): Promise<{ before: number; after: number; by: "ai" | "rules" | "none" }>;
  /**
   * Forgets a session and all it ever had, words and bytes, for good. Holds at once for every later call; resolves when
   * the store has done it.
   */
  clearContext(sessionId: string): Promise<void>;
  /** Sets the system prompt, whatever it was. Resolves when that is stored. */
  setSystemPrompt(sessionId: string, systemPrompt: string): Promise<void>;
  /** Ids of all sessions, the oldest first. */
  listSessions(): string[];
  /**
   * Sessions, one page: "created" the oldest first (default), "updated" the last changed first. `cursor` is what the page
   * before gave; without one in the answer it was the last. Default limit 100.
   * @example const { sessions, cursor } = await manager.list({ order: "updated", limit: 20 });
   */
  list(options?: {
    namespace?: string;
    order?: "created" | "updated";
    limit?: number;
    cursor?: string;
  }): Promise<{
    sessions: { sessionId: string; messages: number; metadata: ConversationContext["metadata"] }[];
    cursor?: string;
  }>;
  /** Tokens are cl100k, exact. */
  getStats(
    sessionId: string,
  ): { messages: number; tokens: number; compressions: number; tokensSaved: number } | undefined;
  /** Sets each field by itself, null removes it. Shows at once; resolves when it is stored. */
  setMetadata(sessionId: string, metadata: { goal?: string | null; planId?: string | null }): Promise<void>;
  /** @throws TypeError where that leaves no room above `maxCompressedMessages`: lower that first. */
  setMaxMessages(n: number): void;
  /** @throws TypeError where that leaves no room below `maxMessages`: raise that first. */
  setMaxCompressedMessages(n: number): void;
  /**
   * The newest messages that hold every part of the query: words by their beginning, Chinese and Japanese by any part
   * of a sentence, without case and accents. In a file this finds what sessions let go, too. Default limit 20.
   */
  search(query: string, options?: { sessionId?: string; limit?: number }): SearchHit[];
  /** The same off this thread, on every store. */
  searchAsync(query: string, options?: { sessionId?: string; limit?: number }): Promise<SearchHit[]>;
  /**
   * Deletes messages for good, those let go too; a call goes with its results. Resolves with the ids that are gone.
   * @example await manager.deleteMessages("s", (await manager.searchAsync("4111")).map(({ message }) => message.id!))
   */
  deleteMessages(sessionId: string, ids: string[]): Promise<string[]>;
  /**
   * Forgets for good the sessions that nothing was done to for `maxAgeDays`, and what the others let go before that. Runs
   * when you call it, and never by itself.
   */
  prune(options: { maxAgeDays: number }): Promise<{ sessions: number; messages: number }>;
  /**
   * One session, or all of this namespace, as lines of JSON: a header for each, then its messages, those let go too.
   * @example for await (const line of manager.export()) file.write(line)
   */
  export(sessionId?: string): AsyncGenerator<string, void, void>;
  /**
   * Reads what `export` wrote: text, or chunks of text or bytes. Each session whole or not at all; one that is there
   * already is skipped.
   * @throws (rejects) TypeError that names the line which cannot be read.
   */
  import(
    lines: string | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
  ): Promise<{ sessions: number; messages: number; skipped: string[] }>;
  /**
   * Asks a model: adds the question, hands the session's messages to `complete`, adds and returns the answer. Where
   * `complete` fails, the question is taken out again and its error comes through.
   * @param complete resolves with a text, an assistant message of a session, or one of pi
   * @example await manager.ask("s", "And now?", async (messages) => (await callAI(toOpenAIMessages(messages))).text)
   */
  ask(
    sessionId: string,
    text: string | ContentBlock[],
    complete: (
      messages: ConversationMessage[],
      call: { sessionId: string; signal?: AbortSignal },
    ) => Promise<string | { role: string; content: unknown }>,
    options?: { signal?: AbortSignal },
  ): Promise<string>;
  /** Adds what an Agent says, does and gets from its tools to the session. Returns what ends this. */
  attach(
    agent: { subscribe(listener: (event: { type: string; message?: MessageLike }) => void): () => void },
    sessionId: string,
  ): () => void;
  /** Resolves when all that was added before is stored, and acknowledged, and the store is closed. */
  close(): Promise<void>;
}

export type {
  ListedSession,
  ListQuery,
  SearchQuery,
  Stamp,
  Store,
  StoredMessage,
  StoredSession,
  StoreEvent,
  StoreHit,
  StoreOperation,
  StoreOutcome,
} from "./lib/sessions/store/store.js";

/**
 * Sessions in Postgres, for `ContextManager`'s `store`; the connection string alone makes one too. Its tables, of the
 * names `strata_…`, are made and migrated when it is opened (`pi-strata/postgres.sql`).
 * @throws TypeError for options that are not allowed; an Error with ERR_DATABASE_DRIVER where the package pg is missing
 * @example new ContextManager({ store: new PostgresStore({ pool }), namespace: tenant })
 */
export const PostgresStore: new (
  options: string | (PostgresOptions & { onEvent?: (event: StoreEvent) => void }),
) => PostgresStore;

/** What `new PostgresStore()` makes. */
export interface PostgresStore extends Store {
  readonly engine: "postgres";
  /** Transactions at once: as many as the pool has connections, four at most. */
  readonly parallel: number;
  open(report?: (event: StoreEvent) => void): Promise<void>;
}

/** An AgentMessage in provider-neutral form; undefined for one that says nothing to a model. Thinking is left out. */
export function fromAgentMessage(message: MessageLike): ConversationMessage | undefined;

/** A message as `toAgentMessages` makes it: any pi version takes it as its own. */
export type AgentMessageLike =
  // biome-ignore lint/suspicious/noExplicitAny: each pi version has a message type of its own
  any;

/**
 * Provider-neutral messages as AgentMessages. An answer of a tool without its call is left out, a summary becomes a
 * user message: a provider would refuse them. `model` is what assistant messages are said to come from. Images, sections
 * and arguments come back as they were; arguments that no object can hold exactly keep their text beside them.
 * @example agent.state.messages = toAgentMessages(manager.getMessages("task-1", false), agent.state.model)
 */
export function toAgentMessages(
  messages: ConversationMessage[],
  model?: { api?: string; provider?: string; id?: string },
): AgentMessageLike[];

// ── rolling memory ──────────────────────────────────────────────────────────────────────────────────────────

/** What was asked, and what came of it. */
export interface QA {
  q: string;
  a: string;
}

export interface RollingMemoryOptions {
  /** The model's context window in tokens, or a function asked at each call. */
  contextWindow: number | (() => number);
  /**
   * Tokens sent beside the messages: system prompt, tools. A number, or a function asked at each call. Default 0; what
   * the provider reports is learned, and kept from one conversation to the next, where it is more.
   */
  overheadTokens?: number | (() => number);
  /** What is remembered from the start, as `history` gave it once. */
  history?: QA[];
  /** Longest prompt for the summariser, cl100k tokens. Default 16 000. */
  summarizeTokens?: number;
  /** Makes the pairs. Left out, or whenever it fails: text is clipped, and where that is too much, keywords. */
  summarize?: Summarize;
  /** Share of the window above which a new conversation begins before a question. Default 0.85. */
  preCheckRatio?: number;
  /** The same after an answer. Default 0.8. */
  postCheckRatio?: number;
  /** Share of the window above which the memory itself is too much: it is reported and cut down. Default 0.8. */
  overflowRatio?: number;
  /**
   * Newest messages that go along into a new conversation; more where a tool's answer would lose its call. Default
   * 2.
   */
  keepMessages?: number;
  /** Pairs remembered; the oldest are out first. Default 15. */
  maxPairs?: number;
  /** How long a summariser may take, ms. Default 30 000. */
  timeoutMs?: number;
  /** Told what happens. It may throw, reject or be slow: nothing changes. */
  onEvent?: (event: RollingEvent) => void;
}

export type RollingEvent =
  /** `summary` is the memory as JSON, `summarizedCount` the messages that went into it just now. */
  | { type: "context_summarized"; summary: string; summarizedCount: number; hasHistorySummary?: boolean }
  /** `pendingUserMessage` is the question that waits; `isOverflow` tells that the memory had to be cut down. */
  | {
      type: "new_conversation_with_summary";
      summary: string;
      summarizedCount: number;
      pendingUserMessage?: string;
      isOverflow?: boolean;
    }
  /** The memory has `summaryTokens`, more than `tokenLimit`, its share of the window. */
  | { type: "context_overflow"; message: string; summaryTokens: number; tokenLimit: number }
  /** The summariser threw, hung or answered without a pair: text is clipped. Said once as a warning without `onEvent`. */
  | { type: "summarizeFailed"; code: string; message: string; cause: unknown }
  /** The messages went on as they were. Said once as a warning where there is no `onEvent`. */
  | { type: "failed"; code: string; message: string; cause: unknown };

/**
 * The endless conversation. When the transcript fills the window, its rounds become pairs of question and answer, and
 * a new conversation begins with those, as a user message that is tagged as a record and no instruction. Sizes are
 * cl100k, or what the provider itself reported of the newest request where that is more.
 * @throws TypeError for an option that is unknown or not allowed.
 * @example const memory = new RollingMemory({ contextWindow: () => agent.state.model.contextWindow, summarize });
 *   agent.state.messages = (await memory.beforePrompt(agent.state.messages, question)).messages;
 *   await agent.continue();
 *   agent.state.messages = (await memory.afterReply(agent.state.messages)).messages;
 */
export class RollingMemory {
  constructor(options: RollingMemoryOptions);
  /** Whether it is time: before a question ("pre") if one is given, else after an answer. Counts on this thread. */
  needsContextSummarization(
    messages: MessageLike[],
    pendingUserMessage?: string | ContentBlock[],
  ): { needed: boolean; phase: "pre" | "post"; ratio: number };
  /** The rounds that would be summarised now, questions and final answers alone, and what is remembered already. */
  getMessagesForSummarization(messages: MessageLike[]): { messages: ConversationMessage[]; history: QA[] };
  /** Adds the pairs of a summariser's answer to the memory, whatever surrounds them; none where it has none. */
  applySummarization(summary: string): QA[];
  /**
   * The messages to go on with, the question last, in a new conversation if it is time. Never rejects. May be called while
   * `afterReply` is still at work on the same messages: it goes on from what that makes.
   */
  beforePrompt<M extends MessageLike>(
    messages: M[],
    question: string | ContentBlock[],
    signal?: AbortSignal,
  ): Promise<{ messages: M[]; rolledOver: boolean; history: QA[] }>;
  /** The same after an answer. */
  afterReply<M extends MessageLike>(
    messages: M[],
    signal?: AbortSignal,
  ): Promise<{ messages: M[]; rolledOver: boolean; history: QA[] }>;
  /** Forgets everything, also what is being summarised just now. */
  reset(): void;
  /** What is remembered, the oldest first. */
  readonly history: QA[];
}
