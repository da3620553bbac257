/**
 * The hook, `explain`, counting, recall, `validate` and `repair`, `status`. Lengths are UTF-16 code units (JavaScript's
 * `.length`), sizes are tokens, times are ms.
 * @module pi-strata
 */

/** Anything shaped like a pi AgentMessage, of any pi version. Structural, so no pi package is imported. */
export interface MessageLike {
  role: string;
  content?: unknown;
  timestamp?: number;
}

/** pi-agent-core's `transformContext` hook. Never throws, never rejects, never changes what it is given. */
export type TransformContext = <M extends MessageLike>(messages: M[], signal?: AbortSignal) => Promise<M[]>;

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
   * Newest old images that stay, whoever sent them. Default 8 images; each older one becomes a line that says so. An image
   * of the last user message always stays. Whatever stands here, a request holds no more images, and no larger ones, than
   * its provider takes.
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
  /**
   * The line that says what was left out: "zh" (default), "en", or your own (it must return a string). "auto" writes in the
   * language of the conversation: Chinese where the first user message, or a summary before it, is Chinese.
   */
  marker?: "zh" | "en" | "auto" | ((omittedLines: number, originalChars: number) => string);
  /** Names of tools whose results are never summarised or cut. Default none; name those the model has to quote. */
  excludeTools?: string[];
  /**
   * What stays whole in its newest state, up to a tenth of the window: instructions (`AGENTS.md`, `CLAUDE.md`, `SKILL.md`
   * and their like), the newest plan or todo list, what memory tools brought. An object names more: `files` by a name, the
   * end of a path, or `*` and the end of a name; `tools` whose newest call is the state. `false` turns it off. Default on
   * under the sticky schedule; under `everyCall` only where it is given. `protect` and `excludeTools` outrank it, and a
   * limit outranks all.
   * @example createTransformContext({ keep: { files: ["docs/api.md"], tools: ["board"] } })
   */
  keep?: false | { files?: string[]; tools?: string[] };
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
   * Tokens of the window kept free for the answer; take your `maxTokens`. The default is 8192, at most a quarter of the
   * window; a number given here is obeyed.
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
  encoding?: "auto" | EncodingName | { readonly name: EncodingName };
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
   * "sticky": a server that reports no cached tokens is taken to have a prefix cache, without a time to live unless its
   * model's is published. A batch may keep of an old tool result only the lines worth their tokens, word for word and in
   * order, with a marker line for each gap.
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
   * Memory against the bill under sticky: the tokens that are carried so that the model can see one thing it is going to need. A
   * name stands for such a number: 340, 230 and 140. The window changes nothing. Default "balanced"; try others with
   * `pi-strata replay --html`.
   */
  economy?: "faithful" | "balanced" | "thrifty" | number;
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
      /** The first message that is sent otherwise than in the last request; absent where this one only adds to it. */
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
  /** The first `images` images of a message are left out; call and tool where a tool brought them. */
  | {
      type: "imagesOmitted";
      index: number;
      toolCallId?: string;
      toolName?: string;
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
  /** An endpoint refused a request and named its limit: that is this model's window from now on, for the life of the hook. */
  | { type: "contextWindowLearned"; contextWindow: number; provider: string; model: string }
  /**
   * The report of the last call shows that it read less from the provider's cache than the call before had put there:
   * `tokens` were not read, which cost `dollars` more where the usage tells prices. At most once per call, with the first
   * list that holds its answer; calls from before the hook was made are not told of.
   */
  | { type: "cacheMiss"; cause: CacheMissCause; tokens: number; dollars?: number }
  /** Something that would brick the session was left out. */
  /** A message was left out, moved behind the message `after`, or lost a call, because a provider would refuse it. */
  | { type: "repaired"; index: number; rule: string; after?: number }
  /** The list is not pi's: `mark` shows it. It comes back as it came. */
  | { type: "unknownShape"; mark: string; message: string }
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
    /** The cost of rewriting the rest, in input tokens; the frontier moves when `carriedCost` reaches it. */
    rewriteCost: number;
    /** Calls after which a batch has paid for itself: as worked out, else as expected; Infinity where it never has. */
    paybackCalls: number;
    /** True if nothing is left in the provider's cache, so that a move is free. */
    cacheCold: boolean;
  };
  /** Tool results that stay whole as the newest state of something, such as `keep: AGENTS.md`. */
  kept: { index: number; why: string }[];
  edits: {
    index: number;
    layer: 1 | 2 | 3 | 4;
    /** `keepLines`: of a tool result only the lines in `ranges` stay, word for word. */
    action:
      | "summarize"
      | "keepLines"
      | "omitImages"
      | "stripThinking"
      | "drop"
      | "truncate"
      | "dropCalls"
      | "moveAfter";
    /** For `moveAfter`: the message is sent behind this one, the last result of the call that it parts from it. */
    after?: number;
    /** For `keepLines`: the lines that stay, as `[first, after the last]`, counted from 0. */
    ranges?: [number, number][];
    /** For `keepLines`: how many lines stay for which reason, in words. */
    kept?: { lines: number; why: string }[];
    /** Number of its images, the first ones, that are left out, whatever else is done. */
    images?: number;
    /** For a tool result: the form in which its call named a file, such as `Claude Code Read` or `Codex shell: sed`. */
    form?: string;
    reason: string;
    tokensSaved: number;
  }[];
}

/**
 * Why a call read less from the cache than it could have: `hook`, an edit of ours; `expired`, too long since the last call;
 * `model`, another model or provider; `host`, the host changed what stood there (a compaction, another system prompt);
 * `provider`, nothing was changed and no time had passed.
 */
export type CacheMissCause = "hook" | "expired" | "model" | "host" | "provider";

/** The encodings there are; gpt2 is r50k_base. */
export type TiktokenEncoding =
  | "cl100k_base"
  | "o200k_base"
  | "o200k_harmony"
  | "p50k_base"
  | "p50k_edit"
  | "r50k_base"
  | "gpt2";

/** A built-in encoding's name, or one that `loadEncoding` (`pi-strata/tokens`) was given. */
export type EncodingName = TiktokenEncoding | (string & {});

/** By what is counted; cl100k_base where neither is said. */
export interface CountOptions {
  /** The encoding itself. */
  encoding?: EncodingName | { readonly name: EncodingName };
  /** An OpenAI model whose encoding it is, such as "gpt-5-mini", "openai/gpt-4o" or "ft:gpt-4o:us::id". */
  model?: string;
}

/**
 * Exact tokens, by cl100k_base unless another encoding or a model is named. Special-token text is ordinary text, a lone
 * surrogate counts as U+FFFD. Messages are pi's, OpenAI's, Anthropic's or the AI SDK's. Of a message: its texts, thinking,
 * tool-call names and arguments, 1200 per image; of a file nothing but its description; 0 for messages pi does not send.
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
 * The tokens of `input`, or false as soon as they are known to be more than `limit`: gpt-tokenizer's call. A list of
 * `{ role, content }` with texts as contents is a chat, counted as `countChatTokens` does.
 * @example isWithinTokenLimit(prompt, 8192) // 311
 */
export function isWithinTokenLimit(
  input: string | ChatMessage[] | MessageLike[],
  limit: number,
  options?: CountOptions,
): number | false;

/**
 * Tokens without tokenizing: three UTF-16 code units each, rounded up per text. Safe for English and code (about four
 * each), not for Chinese, Japanese or Korean (one or less): count those with `counting: "exact"`.
 * @example estimateTokens(prompt) < 8192
 */
export function estimateTokens(
  input: string | MessageLike | MessageLike[],
  options?: { counting?: "exact" | "chars" },
): number;

/** A message of a chat as OpenAI's API takes it. */
export interface ChatMessage {
  role: string;
  content: string;
  name?: string;
}

/**
 * Finds what a provider would refuse in `messages`, oldest message first; empty if nothing.
 *
 * `api` is pi's name of the wire, such as "anthropic-messages"; without it, that of the newest assistant message
 * decides. Some rules exist on one wire only. What two requests have to do with each other cannot be seen here. A list that is
 * not pi's has no problems; the process warns of it once.
 * @throws TypeError if `messages` is no array.
 * @example validate([{ role: "toolResult", toolCallId: "a", toolName: "ls", content: [] }])[0].rule // "orphan-result"
 */
export function validate<M extends MessageLike>(messages: M[], api?: string): Problem[];

/**
 * `messages` made valid with the fewest losses: messages or single blocks are left out, half surrogate pairs become
 * U+FFFD, what stands between a call and its results moves behind them. Nothing is added. What is not touched is the same object; nothing to do, the same array. A
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
  /** The answer of the provider. Never text of the conversation. */
  message: string;
}

/** A model's context window in tokens; 200 000 where it names none. */
export function getContextWindow(model?: { contextWindow?: number }): number;

/**
 * Tells whether the native addon is loaded; if not, what is wrong and how to mend it. Never throws.
 * @example const { native, error, hint } = status(); if (!native) console.error(`${error}. ${hint}`);
 */
export function status(): {
  native: boolean;
  version: string;
  /** System and processor, such as "linux-x64". */
  platform: string;
  /** The words of the system when the file was loaded, in one line. Only where `native` is false. */
  error?: string;
  /** Advice for that. Only where `native` is false. */
  hint?: string;
  /** The package that holds this machine's native file. Only where `native` is false; absent where there is none. */
  package?: string;
};

/**
 * A pi `AgentTool` named `recall`, by which the model reads back what was summarised. Give the hook `recall: true`, so
 * that each marker ends with the handle. It answers with a page of at most 20 000 characters (8000 unless asked
 * otherwise) and the offset of the next, or with the matches of a pattern; a wrong handle is answered with the right ones,
 * or with what happened where the conversation was compacted since.
 * A pattern is searched word for word; `*` stands for anything within a line.
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
