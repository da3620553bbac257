/**
 * `pi-strata/sessions`: many sessions side by side, the endless conversation, and OpenAI's messages.
 * @module sessions
 */

import type { MessageLike } from "../../index.js";

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
  /** The parts in order, where they are not text alone. */
  blocks?: MessageBlock[];
  /**
   * Unique in its session, at most 128 UTF-16 code units. Set when the message is added, if left out. A message that is added
   * twice under one id is kept once.
   */
  id?: string;
  /** ISO 8601. Set when the message is added, if left out. */
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

/** A message to add: its content may be blocks. */
export type NewConversationMessage = Omit<ConversationMessage, "content"> & {
  content: string | ContentBlock[];
};

export interface ConversationContext {
  sessionId: string;
  readonly messages: ConversationMessage[];
  metadata: { goal?: string; planId?: string; readonly createdAt: string; readonly updatedAt: string };
}

/**
 * The host's own summariser. It may throw, hang or answer with anything: rules take over then.
 * @param messages the messages to summarise
 * @param request a prompt that holds all of them, and how to sample; `signal` is aborted when time is up
 * @example async (_, { prompt, temperature, maxTokens, signal }) =>
 *   textOf(await complete(model, { messages: [user(prompt)] }, { temperature, maxTokens, signal }))
 */
export type Summarize = (
  messages: ConversationMessage[],
  request: { prompt: string; temperature: number; maxTokens: number; signal: AbortSignal },
) => Promise<string>;

/**
 * A service of the host's that calls a model. `callAI` is called with the prompt, the current provider and `false`; not at all
 * if `getCurrentProvider` answers with none.
 */
export interface AIService {
  // biome-ignore lint/suspicious/noExplicitAny: providers are the host's
  callAI(prompt: string, provider: any, useTools: boolean): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: providers are the host's
  getCurrentProvider?(): any;
}

/** Options of every manager. */
export interface SessionOptions {
  /** A session with more messages is compressed. Default 50. */
  maxMessages?: number;
  /**
   * Newest messages that a compression keeps, more where a tool's answer would lose its call, but always fewer than
   * `maxMessages`. Default 20.
   */
  maxCompressedMessages?: number;
  /** Language of the summaries by rules. Default "auto": that of the conversation. */
  language?: "zh" | "en" | "auto";
  /** Makes the summaries, in the background. Default: rules make them, at once. */
  summarize?: Summarize | AIService;
  /** Longest time of a summariser, ms. Default 30 000. */
  summarizeTimeoutMs?: number;
  /** Longest prompt for the summariser, cl100k tokens. Default 16 000, at least 400. */
  summarizeTokens?: number;
  /** Receives events. It may throw, reject or be slow: nothing changes. */
  onEvent?: (event: SessionEvent) => void;
}

export interface ContextManagerOptions extends SessionOptions {
  /** An open handle of better-sqlite3 or node:sqlite. Default: sessions live in memory. */
  database?: object;
}

export interface SharedContextManagerOptions extends SessionOptions {
  /** A `Pool` of the package pg, for Postgres 13 or newer. It is left open. */
  pool: object;
  /** Time for which a call is tried again while the server is away, ms; 0 for once. Default 10 000. */
  retryMs?: number;
}

/** Without `onEvent`, `process.emitWarning` tells the first of each kind but "compressed". */
export type SessionEvent =
  /** `before` and `after` are messages; `by` is who made the summary. */
  | { type: "compressed"; sessionId: string; before: number; after: number; by: "ai" | "rules" }
  /** The summariser threw, hung or answered with nothing: rules took over. */
  | { type: "summarizeFailed"; sessionId: string; by: "rules"; code: string; message: string; cause: unknown }
  /** A compression in the background failed; the session is as it was. */
  | { type: "compressFailed"; sessionId: string; code: string; message: string; cause: unknown }
  /** A message of an attached agent was not stored. */
  | { type: "storeFailed"; sessionId: string; code: string; message: string; cause: unknown }
  /** A row cannot be read and is left out; without `messageId` it is the metadata of the session. */
  | {
      type: "rowUnreadable";
      sessionId: string;
      messageId?: string;
      code: string;
      message: string;
      cause: unknown;
    };

/**
 * Many sessions side by side, in memory or in a database of the host's. Over `maxMessages` the system prompt and the newest
 * messages of a session stay, calls with their results, and the messages between become one assistant message
 * `[上下文总结] …`. Any string is a session id.
 *
 * Methods return at once. With a database, a message is stored when `addMessage` returns, or with the transaction that the
 * host has open; processes that share the database see each other's changes at each call.
 * @throws TypeError for an option, id or message that is not allowed; an Error with a `code` of `ERR_DATABASE_…` for a
 *   database that cannot be used
 * @example const manager = new ContextManager({ database: new Database("app.db") });
 *   manager.getOrCreateContext("task-1", "You plan, execute and evaluate.");
 *   manager.addMessage("task-1", { role: "user", content: "Ship it" });
 */
export class ContextManager {
  /** The one manager of this process. Only the call that makes it may give options. */
  static getInstance(options?: ContextManagerOptions): ContextManager;
  /** Makes the tables where they are missing. Sets no PRAGMA and never closes the handle. */
  constructor(options?: ContextManagerOptions);
  /**
   * The session, made if there is none. It is live: `messages` and `metadata` show the session at each look, and setting
   * `metadata.goal` or `metadata.planId` stores it. A shared manager resolves with the session as it is now.
   * The system prompt is set only if the session has none.
   */
  getOrCreateContext(sessionId: string, systemPrompt?: string): ConversationContext;
  /**
   * Adds a message, and compresses the session if it has too many now: by rules at once; in the background with `aiService`
   * or the option `summarize`. A system message that opens a session is its prompt.
   */
  addMessage(
    sessionId: string,
    message: NewConversationMessage,
    aiService?: Summarize | AIService | null,
  ): void;
  /** The messages of a session, deeply frozen, with or without system messages; none for an unknown session. */
  getMessages(sessionId: string, includeSystem?: boolean): ConversationMessage[];
  /**
   * Compresses now. Without a service, the option `summarize` or the rules make the summary. `by` is "none" if there is
   * nothing to replace, or another process was quicker. A compression under way is joined.
   */
  compressContext(
    sessionId: string,
    aiService?: Summarize | AIService | null,
  ): Promise<{ before: number; after: number; by: "ai" | "rules" | "none" }>;
  /** Deletes a session, with its summary. */
  clearContext(sessionId: string): void;
  /**
   * Deletes messages, a call with its results, also such as were compressed: the summary is made anew without them. Deleting
   * the summary deletes what it says. Returns the ids that were deleted.
   */
  deleteMessages(sessionId: string, ids: string[]): string[];
  /** Replaces the system prompt. */
  setSystemPrompt(sessionId: string, systemPrompt: string): void;
  /** Sets each field by itself; null removes it. */
  setMetadata(sessionId: string, metadata: { goal?: string | null; planId?: string | null }): void;
  /** All sessions, the oldest first. */
  listSessions(): {
    sessionId: string;
    messages: number;
    metadata: ConversationContext["metadata"];
  }[];
  /** Tokens are cl100k, exact. Undefined for an unknown session. */
  getStats(sessionId: string): { messages: number; tokens: number; compressions: number } | undefined;
  setMaxMessages(n: number): void;
  setMaxCompressedMessages(n: number): void;
  /** Adds what an Agent says, does and gets from its tools to the session. Returns a function that ends this. */
  attach(
    agent: { subscribe(listener: (event: { type: string; message?: MessageLike }) => void): () => void },
    sessionId: string,
  ): () => void;
}

/** Methods that are the same in every manager. */
type Unchanged = "compressContext" | "setMaxMessages" | "setMaxCompressedMessages" | "attach";

/** The methods of `ContextManager` as promises. */
export type SharedContextManager = Pick<ContextManager, Unchanged> & {
  [Method in Exclude<keyof ContextManager, Unchanged>]: (
    ...args: Parameters<ContextManager[Method]>
  ) => Promise<ReturnType<ContextManager[Method]>>;
};

/**
 * Sessions in the host's Postgres, shared by many processes. A promise resolves when its change is committed. The tables are
 * made at the first call.
 * @throws TypeError for an option that is not allowed
 * @example const manager = createSharedContextManager({ pool: new pg.Pool() });
 *   await manager.addMessage("task-1", { role: "user", content: "Ship it" });
 */
export function createSharedContextManager(options: SharedContextManagerOptions): SharedContextManager;

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
  /** Pairs remembered, at least one; the oldest are out first. Default 15. */
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
  /** The memory has `summaryTokens`, more than `tokenLimit`, its share of the window. The message advises a clean window. */
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
