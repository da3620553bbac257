/**
 * `pi-strata/sessions`: many sessions side by side, the endless conversation, and OpenAI's messages.
 * @module sessions
 */

import type { MessageLike } from "../../index.js";
import type { Store, StoreEvent } from "./store/store.js";

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
  /** The part of OpenAI's message beyond this; `toOpenAIMessages` gives it back. */
  original?: object;
}

export type MessageBlock =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "image_url" | "input_audio" | "file" | "refusal"; [field: string]: unknown };

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

/** A part of a message. `data` is base64. */
export type ContentBlock = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** A message of any provider: its words, with images, tool calls and their results beside them. */
export interface ConversationMessage {
  role: "system" | "user" | "assistant" | "tool";
  /** The words alone; an image stands in them as `[image]`. */
  content: string;
  /** The parts in order, where there is an image among them. */
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
  /** The part of another format beyond this one, to be given back to it. */
  original?: object;
  /** The part of pi's own system message beyond its words: `content`, `sections`, tools. */
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
   * The place of the sessions: the path of an SQLite file, `postgres://user@host/database`, or a store of your own. Left
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
  /** The language that rules write in. Default "auto": the language of the conversation. */
  language?: "zh" | "en" | "auto";
  /** Makes the summaries. Left out: rules do. */
  summarize?: Summarize;
  /** Longest time of a summariser, ms. Default 30 000. */
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
 * Methods that read or write return a promise, on every store alike, and works on another thread. What is asked for shows in
 * every later call of this manager, which waits for it.
 * @throws TypeError for an option, id or message that is not allowed; an Error with a `code` of `ERR_DATABASE_…` for a
 *   store that cannot be used, and `ERR_CLOSED` after `close()`.
 * @example const manager = new ContextManager({ store: "sessions.db" });
 *   await manager.getOrCreateContext("task-1", "You plan, execute and evaluate.");
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
  /**
   * The session, made if there is none; resolves when it is stored. A system prompt is taken only where the session has
   * none yet.
   */
  getOrCreateContext(sessionId: string, systemPrompt?: string): Promise<ConversationContext>;
  /**
   * Adds a message, and compresses the session if it has too much now. Resolves when both are done and stored; rejects
   * if the message is not stored. A system message that opens a session is its prompt.
   */
  addMessage(sessionId: string, message: NewConversationMessage): Promise<void>;
  /** The messages of a session, with or without its system prompt; none for an unknown session. They are deeply frozen. */
  getMessages(sessionId: string, includeSystem?: boolean): Promise<ConversationMessage[]>;
  /** Compresses now. `by` is "none" where there is nothing to let go, or somebody else has just done it. */
  compressContext(
    sessionId: string,
    summarize?: Summarize,
  ): Promise<{ before: number; after: number; by: "ai" | "rules" | "none" }>;
  /**
   * Forgets a session and all it ever had, words and bytes, for good. Holds for every later call; resolves when
   * no byte of it is left in the store. Other sessions go on meanwhile.
   */
  clearContext(sessionId: string): Promise<void>;
  /** Sets the system prompt, whatever it was. Resolves when that is stored. */
  setSystemPrompt(sessionId: string, systemPrompt: string): Promise<void>;
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
  /** Tokens are cl100k, exact. Undefined for an unknown session. */
  getStats(
    sessionId: string,
  ): Promise<{ messages: number; tokens: number; compressions: number; tokensSaved: number } | undefined>;
  /** Sets each field by itself, null removes it. Resolves when it is stored. */
  setMetadata(sessionId: string, metadata: { goal?: string | null; planId?: string | null }): Promise<void>;
  /** @throws TypeError where that leaves no room above `maxCompressedMessages`: lower that first. */
  setMaxMessages(n: number): void;
  /** @throws TypeError where that leaves no room below `maxMessages`: raise that first. */
  setMaxCompressedMessages(n: number): void;
  /**
   * The newest messages that hold every part of the query: words by their beginning, Chinese and Japanese by any part
   * of a sentence, without case and accents. In a file this finds what sessions let go, too. Default limit 20.
   */
  search(query: string, options?: { sessionId?: string; limit?: number }): Promise<SearchHit[]>;
  /**
   * Deletes messages for good, those let go too; a call goes with its results. Resolves with the ids that are gone.
   * @example await manager.deleteMessages("s", (await manager.search("4111")).map(({ message }) => message.id!))
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
} from "./store/store.js";

/**
 * The words of a text as every search compares them: lower case, without accents, each Chinese or Japanese character a word,
 * one space between. For a store of one's own.
 * @example searchForm("Café: 数据") // "cafe 数 据"
 */
export function searchForm(text: string): string;

/**
 * Sessions in Postgres, for `ContextManager`'s `store`; the connection string alone makes one too. Its tables, of the
 * names `strata_…`, are made when it is opened (`pi-strata/postgres.sql`).
 * @throws TypeError for options that are not allowed; an Error with ERR_DATABASE_DRIVER where the package pg is missing
 * @example new ContextManager({ store: new PostgresStore({ pool }), namespace: tenant })
 */
export const PostgresStore: new (
  options: string | (PostgresOptions & { onEvent?: (event: StoreEvent) => void }),
) => PostgresStore;

/** The object that `new PostgresStore()` makes. */
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
 * @example agent.state.messages = toAgentMessages(await manager.getMessages("task-1", false), agent.state.model)
 */
export function toAgentMessages(
  messages: ConversationMessage[],
  model?: { api?: string; provider?: string; id?: string },
): AgentMessageLike[];

/** The way to a Postgres server, version 13 or newer: a connection string or a pool of the package pg, not both. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`; what pg takes. Never shown in an error or event. */
  connectionString?: string;
  /** A `Pool` of the host's; it is left open. */
  pool?: object;
  /** Connections of the pool made here. Default 10. */
  poolSize?: number;
  /** Longest time of a statement, ms. Default 10 000. */
  statementTimeoutMs?: number;
  /** Time for which a call is tried again while the server is away, ms; 0 for once. Default 30 000. */
  retryMs?: number;
}

/** A question, and what came of it. */
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
  /** The pairs remembered from the start, as `history` gave it once. */
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
  /** Longest time of a summariser, ms. Default 30 000. */
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
  /** True if it is time: before a question ("pre") if one is given, else after an answer. Counts on this thread. */
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
  /** The pairs remembered, the oldest first. */
  readonly history: QA[];
}
