/**
 * The hook, `explain`, counting, recall, `validate` and `repair`, `status`. Lengths are UTF-16 code units (JavaScript's
 * `.length`), sizes are tokens, times are ms. A group is a message, or an assistant message with the results of its calls.
 * @module pi-strata
 */

/** Anything shaped like a pi AgentMessage, of any pi version. Structural, so no pi package is imported. */
export interface MessageLike {
  role: string;
  content?: unknown;
  timestamp?: number;
}

/** pi-agent-core's `transformContext` hook. Never throws, never rejects, never changes its input. */
export type TransformContext = <M extends MessageLike>(messages: M[], signal?: AbortSignal) => Promise<M[]>;

/**
 * The hook with every option at its default.
 * @example new Agent({ transformContext })
 */
export const transformContext: TransformContext;

/**
 * Makes a hook. The hook resolves with the same array if it edits nothing. Unedited messages are the same objects; an
 * edited one is a shallow copy in which only `content` differs. Where pi, from 0.87 on, would leave no
 * room for an answer after a batch, the newest answer is a copy with another `usage`. On any failure the hook resolves with its input and reports
 * through `onEvent`. On abort it resolves with its input and reports nothing.
 * @throws TypeError for an unknown or wrong option; it names the option, the value and what is allowed.
 * @example
 * const agent: Agent = new Agent({
 *   initialState,
 *   streamFn,
 *   transformContext: createTransformContext({ contextWindow: () => agent.state.model.contextWindow }),
 * });
 */
export function createTransformContext(options?: TransformContextOptions): TransformContext;

/** The options of a hook. */
export interface TransformContextOptions {
  /**
   * The model's context window in tokens, or a function that returns it, called at each call. Default 200 000, also if
   * the function returns none. Pass the function.
   */
  contextWindow?: number | (() => number | undefined);
  /** Share of the window above which the hook drops the oldest groups. Default 0.75; lower it for models that fade early. */
  contextRatio?: number;
  /**
   * Newest tool results that keep their full text. Default 6 messages; raise it for agents that read many files at once.
   * Above a limit only the last group is sure to stay whole.
   */
  keepRecentToolResults?: number;
  /** Newest assistant messages that keep their thinking. Default 1; 0 strips all that the provider does not need. */
  keepRecentThinking?: number;
  /**
   * Newest images that stay, whoever sent them. Default 8 images; a line replaces each older one. Those of the last user
   * message, and of the `keepRecentToolResults` newest results after it, always stay. No value lets a request exceed its
   * provider's limits on the number of images, their total size and the size of one, known or learned from refusals.
   */
  keepRecentImages?: number;
  /**
   * Newest messages that `contextRatio` does not drop. Default 20; raise it for long chains of small steps. Above a limit only
   * the last group is sure to stay.
   */
  keepRecentMessages?: number;
  /** Lines kept from the beginning of a summarised tool result. Default 3; raise it where a header matters most. */
  summaryHeadLines?: number;
  /** Lines kept from its end. Default 2; raise it where errors come last. */
  summaryTailLines?: number;
  /**
   * Only longer tool results are summarised. UTF-16 code units, default 500; a smaller value saves little, since a summary
   * takes room too.
   */
  minSummaryChars?: number;
  /**
   * The line that replaces omitted text: "zh" (default), "en", or "auto", the language of the conversation: Chinese if the
   * first user message, or a summary before it, is Chinese. A function writes the line for omitted lines. As under "auto", the
   * hook writes those for images and cuts within a text, and replaces a blank one.
   */
  marker?: "zh" | "en" | "auto" | ((omittedLines: number, originalChars: number) => string);
  /**
   * Tools whose results are never summarised or cut, by name. Default none; name tools that the model has to quote. A
   * limit may still drop them with their calls; `protect` keeps them.
   */
  excludeTools?: string[];
  /**
   * What stays whole in its newest state, up to a tenth of the window. By default these are instructions (`AGENTS.md`,
   * `CLAUDE.md`, `SKILL.md` and the like), the newest plan or todo list, and what memory tools returned. An object adds
   * `files` (a name, the end of a path, or `*` and the end of a name) and `tools`, whose newest call stays. `false` turns it
   * off. Without the option it works under "sticky" only, from the first usage report on. `protect` and `excludeTools`
   * outrank it, and a limit outranks all.
   * @example createTransformContext({ keep: { files: ["docs/api.md"], tools: ["board"] } })
   */
  keep?: false | { files?: string[]; tools?: string[] };
  /**
   * Returns true for messages that no layer may edit. Their calls and results stay too. Called once per message; an equal
   * copy counts as the same message. If it throws, the message is protected. Default none.
   * @example createTransformContext({ protect: (message) => message.details?.pinned === true })
   */
  // biome-ignore lint/suspicious/noExplicitAny: a host's own messages have fields of their own
  protect?: (message: any) => boolean;
  /**
   * True ends each marker with a handle, by which the tool of `createRecallTool` finds the original. Default false; use
   * both or neither.
   */
  recall?: boolean;
  /** "closedTurns" keeps all thinking after the last user message, for long turns of planning. Default "all". */
  thinkingScope?: "all" | "closedTurns";
  /** For a request that is still over the window: "shrink" it (default), or "keep" it for a host that compacts. */
  overflow?: "shrink" | "keep";
  /**
   * Tokens of the window kept free for the answer: your `maxTokens`. The default is 8192, at most a quarter of the window.
   * A given number has no such cap.
   */
  reserveTokens?: number;
  /**
   * Provider tokens of system prompt and tools, or a function that returns them, called at each call. What it returns is
   * ignored unless it is a number from 0 on. By default the hook learns them from the first usage report, and assumes 0 until
   * then. Messages of role "system" are counted apart.
   * @example createTransformContext({ overheadTokens: countTokens(systemPrompt) + countTokens(JSON.stringify(tools)) })
   */
  overheadTokens?: number | (() => number | undefined);
  /**
   * The encoding that counts text. "auto" (default) is the encoding of the first model that answered if that is OpenAI's, and
   * cl100k_base otherwise. It stays when another model continues; the hook learns the difference from usage.
   */
  encoding?: "auto" | EncodingName | { readonly name: EncodingName };
  /** Tokens that one image counts as. Default 1200; set what your provider bills. */
  imageTokens?: number;
  /**
   * False if the model takes no images. The hook then leaves them out, and shows them again to a model that takes them.
   * Default true.
   * @example createTransformContext({ takesImages: () => agent.state.model.input.includes("image") })
   */
  takesImages?: boolean | (() => boolean | undefined);
  /**
   * Learn from the transcript's usage how the provider counts. Default true; false uses the encoding's counts as they are, and
   * learns from refusals only.
   */
  calibrate?: boolean;
  /**
   * When the layers may edit. "everyCall" computes all edits anew at each call, which breaks the provider's prompt cache at
   * each call. "sticky" edits in batches, when that pays, and keeps edited bytes as they are. "auto" (default) is "sticky".
   * A server that reports no cached tokens is assumed to have a prefix cache. Its entries live as long as the provider
   * publishes, else until a call finds the cache empty. A batch may cut an old tool result to the lines that are worth
   * their tokens, word for word and in order, with a marker line for each gap.
   */
  schedule?: "auto" | "everyCall" | "sticky";
  /**
   * The provider's prompt cache: prices relative to input (`read`, `write`) and seconds an entry lives unread
   * (`ttlSeconds`). "auto" (default) learns them from the transcript's own `usage.cost`, `usage.cacheWrite1h` and cache
   * reads, per model. A table by provider and model names fills the gaps. An object sets them: missing prices are
   * Anthropic's (0.1, 1.25), a missing time to live is learned. A function is called at each call; if it throws or returns
   * anything else, "auto" applies.
   *
   * @example
   * createTransformContext({ cache: () => ({ read: agent.state.model.cost.cacheRead / agent.state.model.cost.input }) });
   */
  cache?: CacheOption | (() => CacheOption | undefined);
  /**
   * Times at which the host sent the latest request again to keep the provider's cache alive, in ms since 1970, or a
   * function that returns them. The cache stays warm through such a gap. Pass all times of the conversation, so that a
   * restarted process decides alike. Default: none.
   */
  warmedAt?: number[] | (() => number[] | undefined);
  /**
   * Times at which the host gave up the provider's cache, in ms since 1970, or a function that returns them. The first call
   * after such a time counts as one on a cold cache, where a batch is free. Use it after a change of tools, or when the user
   * finished a task and wants the context cut. Pass all times of the conversation. Default: none.
   */
  coldAt?: number[] | (() => number[] | undefined);
  /**
   * Largest prompt in tokens, below the window, or a function that returns it. Set it just below a size above which tokens cost
   * more. Default: none, also if the function returns none. Batches and `contextRatio` act at this size at the latest. A larger
   * prompt does not fail.
   *
   * @example
   * createTransformContext({ contextWindow: 1_000_000, maxPromptTokens: 195_000 });
   */
  maxPromptTokens?: number | (() => number | undefined);
  /**
   * Memory against the bill under "sticky": the tokens of old text that stay for each time a later answer is expected to repeat
   * a name of it or copy it. The words stand for 280, 230 and 90. Default "balanced"; try others with `pi-strata replay --html`.
   */
  economy?: "faithful" | "balanced" | "thrifty" | number;
  /**
   * Called with the events of each call, never with text of the conversation. If it throws, rejects or is slow, nothing changes.
   * Without it the process warns once of `unknownShape`, and of `failed` with ERR_NATIVE_UNAVAILABLE.
   */
  onEvent?: (event: StrataEvent) => void;
}

/** Newest tool results that keep their full text. */
export const KEEP_RECENT_TOOL_RESULTS: 6;
/** Newest assistant messages with thinking that keep it. */
export const KEEP_RECENT_THINKING: 1;
/** Share of the context window above which the hook drops the oldest groups. */
export const CONTEXT_RATIO: 0.75;
/** Newest messages that `CONTEXT_RATIO` does not drop. */
export const KEEP_RECENT_MESSAGES: 20;
/** Lines kept from the beginning of a summarised tool result. */
export const SUMMARY_HEAD_LINES: 3;
/** Lines kept from the end of a summarised tool result. */
export const SUMMARY_TAIL_LINES: 2;

/** `index` is a position in the hook's input; tokens are estimates of the provider's count. */
export type StrataEvent =
  /**
   * Last event of each planned call, after one per edit in force: sizes of input and output, ms on the main thread and ms in
   * all. `reason` is a text of `verdicts` in contract.json, or "recomputed at every call".
   */
  | {
      type: "transformed";
      messagesBefore: number;
      messagesAfter: number;
      tokensBefore: number;
      tokensAfter: number;
      /** The first message that differs from the last request; absent if this request only adds to it. */
      firstChanged?: number;
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
  /** The first `images` images of a message were left out; `toolCallId` and `toolName` if a tool returned them. */
  | {
      type: "imagesOmitted";
      index: number;
      toolCallId?: string;
      toolName?: string;
      images: number;
      tokensSaved: number;
    }
  | { type: "thinkingStripped"; index: number; blocks: number; tokensSaved: number }
  /** Consecutive messages that one rule dropped, `from` and `to` included. */
  | { type: "messagesDropped"; from: number; to: number; count: number; tokensSaved: number }
  /**
   * Layer 4 shrank the request, or layer 3 cut answers that the provider's order of turns keeps. `step` is the `action` of these
   * edits in `Explanation`, `tokensSaved` their sum.
   */
  | { type: "shrunk"; step: string; tokensSaved: number }
  /**
   * The request may not fit: it is over `contextWindow - reserveTokens`, or the last one was refused for its length.
   * `floorTokens` is the size that layer 4 leaves; with `overflow: "keep"` the size it would leave.
   */
  | { type: "contextOverflow"; tokens: number; contextWindow: number; floorTokens: number }
  /** An endpoint refused a request and named its limit: this model's window until it accepts more or `contextWindow` changes. */
  | { type: "contextWindowLearned"; contextWindow: number; provider: string; model: string }
  /**
   * The last call read `tokens` fewer from the provider's cache than the call before had written. That cost `dollars` more
   * (if the usage has prices). At most once per call, with the first list that holds its answer. Calls from
   * before the hook was made are not reported.
   */
  | { type: "cacheMiss"; cause: CacheMissCause; tokens: number; dollars?: number }
  /**
   * Fixed what a provider would have refused: dropped a message ("orphan-result"), moved it behind message `after`
   * ("late-result"), or removed a call ("duplicate-call-id"). `rule` is as in `Problem`.
   */
  | { type: "repaired"; index: number; rule: string; reason: string; after?: number }
  /** The list is not pi's, as `mark` shows. The hook returns it untouched. `message` names the door for its shape. */
  | { type: "unknownShape"; mark: string; message: string }
  /**
   * A function of the host threw or returned a wrong value. Once per hook and option, with the cause and the fallback.
   * Failing functions of other options are ignored without an event.
   */
  | { type: "optionFailed"; option: "contextWindow" | "marker" | "protect"; message: string }
  /** The hook failed and resolved with its input. Codes: ERR_NATIVE_UNAVAILABLE, ERR_INVALID_INPUT, ERR_INTERNAL. */
  | { type: "failed"; code: string; message: string };

/**
 * A dry run: what the hook would do now, and why. Edits nothing.
 * @throws TypeError for wrong options; ERR_UNKNOWN_SHAPE for a list that is not pi's; ERR_NATIVE_UNAVAILABLE if the native addon
 * cannot be loaded.
 * @example (await explain(agent.state.messages)).schedule.why
 */
export function explain<M extends MessageLike>(
  messages: M[],
  options?: TransformContextOptions,
): Promise<Explanation>;

/** The prices and time to live of a provider's prompt cache, or "auto" to learn them. */
export type CacheOption = "auto" | { read?: number; write?: number; ttlSeconds?: number };

export interface Explanation {
  /** Estimated prompt tokens before the edits. */
  tokensBefore: number;
  /** Estimated prompt tokens after the edits. */
  tokensAfter: number;
  /** Tokens above which the hook drops the oldest groups. */
  thresholdTokens: number;
  /** Provider tokens per counted token, learned from the transcript. */
  scale: number;
  /** The decision when to edit, with its arithmetic. */
  schedule: {
    mode: "everyCall" | "sticky";
    /** Why the hook edits a batch of old messages now, or waits. */
    why: string;
    /** Index after the last edited message. */
    frontier: number;
    /** Tokens that a batch would remove now: at most those above the size that the last batch left. */
    removableTokens: number;
    /** Cost of sending them again since the last batch, in input tokens. */
    carriedCost: number;
    /** Cost of rewriting the rest, in input tokens; a batch is due when `carriedCost` reaches `economy` / 57 times that. */
    rewriteCost: number;
    /** Calls after which a batch has paid for itself; Infinity if it never does. */
    paybackCalls: number;
    /** True if the provider's cache has expired, so that a batch is free. */
    cacheCold: boolean;
  };
  /** Tool results that stay whole by the option `keep`, such as `keep: AGENTS.md`. */
  kept: { index: number; why: string }[];
  edits: {
    index: number;
    /** 1: old tool results and images, 2: old thinking, 3: the window, 4: shrinking what still does not fit. */
    layer: 1 | 2 | 3 | 4;
    /** `keepLines`: only the lines in `ranges` of a tool result stay, word for word. */
    action:
      | "summarize"
      | "keepLines"
      | "omitImages"
      | "stripThinking"
      | "drop"
      | "truncate"
      | "dropCalls"
      | "moveAfter";
    /** For `moveAfter`: the last result of the call that the message interrupts. The message is sent after it. */
    after?: number;
    /** For `keepLines`: the lines that stay, as `[start, end)` from 0. */
    ranges?: [number, number][];
    /** For `keepLines`: number of lines that stay, by reason. */
    kept?: { lines: number; why: string }[];
    /** Number of its images, from the first, that are left out. */
    images?: number;
    /** For a tool result: how its call was recognised, such as `Claude Code Read` or `Codex shell: sed`. */
    form?: string;
    reason: string;
    tokensSaved: number;
  }[];
}

/**
 * Why a call read less from the cache than it could have: an edit by the hook (`hook`), an expired entry (`expired`), another
 * model or provider (`model`), a change by the host, such as a compaction or another system prompt (`host`), or none of
 * these (`provider`).
 */
export type CacheMissCause = "hook" | "expired" | "model" | "host" | "provider";

/** Built-in encodings; gpt2 is r50k_base. */
export type TiktokenEncoding =
  | "cl100k_base"
  | "o200k_base"
  | "o200k_harmony"
  | "p50k_base"
  | "p50k_edit"
  | "r50k_base"
  | "gpt2";

/** Name of a built-in encoding, or of one loaded by `loadEncoding` (`pi-strata/tokens`). */
export type EncodingName = TiktokenEncoding | (string & {});

/** The encoding to count in. If neither is given it is cl100k_base, for OpenAI chats o200k_base. */
export interface CountOptions {
  /** The encoding, or its name. */
  encoding?: EncodingName | { readonly name: EncodingName };
  /** An OpenAI model whose encoding is used, such as "gpt-5-mini", "openai/gpt-4o" or "ft:gpt-4o:us::id". */
  model?: string;
}

/**
 * Counts tokens exactly, in cl100k_base unless an encoding or a model is given. Special-token text is ordinary text; a lone
 * surrogate counts as U+FFFD. Messages are pi's, OpenAI's, Anthropic's or the AI SDK's. It counts texts, thinking, tool-call
 * names and arguments, 1200 per image, and of a file only its description. Messages that pi does not send count 0.
 * @throws ERR_NATIVE_UNAVAILABLE if the native addon cannot be loaded; TypeError for any other input; an error that names
 * the nearest one for an unknown encoding or model.
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
 * Counts the tokens of `input`; returns false if there are more than `limit`. A list of `{ role, content }` with string
 * contents, without calls or images, is a chat and counts as by `countChatTokens`. For texts the result is gpt-tokenizer's.
 * For chats gpt-tokenizer counts a name in place of the role, and adds tokens around each message for gpt-3.5-turbo.
 * @throws as `countTokens`; TypeError for a limit that is no number from 0 on
 * @example isWithinTokenLimit(prompt, 8192) // 311
 */
export function isWithinTokenLimit(
  input: string | ChatMessage[] | MessageLike[],
  limit: number,
  options?: CountOptions,
): number | false;

/**
 * Estimates tokens without tokenizing: three UTF-16 code units each, rounded up per text. Safe for English and code (about
 * four units a token), not for Chinese, Japanese or Korean (one or less): use `counting: "exact"` there.
 * @example estimateTokens(prompt) < 8192
 */
export function estimateTokens(
  input: string | MessageLike | MessageLike[],
  options?: { counting?: "exact" | "chars" },
): number;

/** A message of a chat in OpenAI's API. */
export interface ChatMessage {
  role: string;
  content: string;
  name?: string;
}

/**
 * Lists what a provider would refuse in `messages`, oldest message first.
 *
 * `api` is pi's name of an API, such as "anthropic-messages"; by default that of the newest assistant message. Some rules
 * exist in one API only. Rules that concern two requests are not checked. A list of another known shape has no problems;
 * the process warns of it once.
 * @throws TypeError if `messages` is no array.
 * @example validate([{ role: "toolResult", toolCallId: "a", toolName: "ls", content: [] }])[0].rule // "orphan-result"
 */
export function validate<M extends MessageLike>(messages: M[], api?: string): Problem[];

/**
 * Returns `messages` made valid with the fewest losses. It drops messages or single blocks, replaces half surrogate pairs
 * by U+FFFD, and moves messages between a call and its results behind them. It adds nothing. Untouched messages are the
 * same objects, and a valid list is the same array. A transcript that only waits for the user (`ends-on-reply`,
 * `trailing-space`) stays as it is.
 * @throws TypeError if `messages` is no array.
 */
export function repair<M extends MessageLike>(messages: M[], api?: string): M[];

/** A message that breaks a rule. */
export interface Problem {
  /** Position of the message. */
  index: number;
  /** A name of `rules` in contract.json, such as "orphan-result" or "unanswered-call". */
  rule: string;
  /** What the provider would answer. Never text of the conversation. */
  message: string;
}

/**
 * A model's context window in tokens; 200 000 if it names none.
 * @throws TypeError for a window that is no number above 0.
 */
export function getContextWindow(model?: { contextWindow?: number }): number;

/**
 * Returns whether the native addon is loaded; if not, what is wrong and what to do. Never throws.
 * @example const { native, error, hint } = status(); if (!native) console.error(`${error}. ${hint}`);
 */
export function status(): {
  native: boolean;
  version: string;
  /** System and processor, such as "linux-x64". */
  platform: string;
  /** The loader's message, in one line. Only if `native` is false. */
  error?: string;
  /** What to do about it. Only if `native` is false. */
  hint?: string;
  /** The package with this machine's native file. Only if `native` is false; absent if there is no such package. */
  package?: string;
};

/**
 * Makes a pi `AgentTool` named `recall`, with which the model reads what was summarised. The hook needs `recall: true`, so
 * that each marker ends with a handle. The tool returns a page of 8000 characters (`limit`: up to 20 000) and the offset of the
 * next. With a pattern it returns up to 50 matches. It searches a pattern literally, but `*` matches anything within a line. For a
 * wrong handle it lists the newest right ones, or says that no result is long enough to have been shortened.
 * @param messages returns the agent's own messages, which hold every original; called at each use
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

/** `offset` of the page and of the `next` one, in UTF-16 code units; null at the end. Matches have no `offset`. */
export type RecallDetails =
  | {
      found: true;
      handle: string;
      toolName: string;
      chars: number;
      offset?: number;
      next: number | null;
      matches?: number;
    }
  | { found: false; handle: string };
