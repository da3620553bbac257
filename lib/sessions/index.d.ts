/**
 * `pi-strata/sessions`: many sessions side by side, the endless conversation, and OpenAI's messages.
 * @module sessions
 */

import type { MessageLike } from "../../index.js";

/** A message of a chat: its text, with blocks if there is more than text. */
export interface PipelineMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
  /** Text and images in order, if there are images. Parts that only OpenAI has stay as they are. */
  blocks?: MessageBlock[];
  /** Arguments are parsed JSON. Broken JSON, a bare string and numbers with too many digits stay the model's text. */
  toolCalls?: { id: string; name: string; arguments: unknown }[];
  /** In a tool's result: the id of its call. */
  toolCallId?: string;
  isError?: boolean;
  /** OpenAI's message, if this form does not hold all of it. `toOpenAIMessages` returns it. */
  original?: object;
}

export type MessageBlock =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "image_url" | "input_audio" | "file" | "refusal"; [field: string]: unknown };

/**
 * Converts messages of the pipeline, of a session or of pi to OpenAI's chat format, with tool calls and images. Skips what pi does
 * not send (failed and aborted answers with their results, excluded commands). Drops thinking, except that of OpenAI's messages.
 * The sections of pi's system messages become part of the prompt. OpenAI takes no images from a tool: they follow the results in
 * a user message that names the call.
 * @throws TypeError for a list of another shape; it names the door for that shape.
 */
export function toOpenAIMessages(messages: { role: string; content?: unknown }[]): OpenAIMessage[];

/**
 * Converts OpenAI's messages back, exactly: `toOpenAIMessages(fromOpenAIMessages(messages))` equals `messages`, to the last
 * character of each argument.
 * @param messages `OpenAIMessage`s, or those of OpenAI's own package
 * @throws TypeError that names the first role that OpenAI does not have, or the door for a list of another shape.
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

/** A message of any provider: its text, with images, tool calls and results. */
export interface ConversationMessage {
  role: "system" | "user" | "assistant" | "tool";
  /** The text alone, with `[image]` for an image. */
  content: string;
  /** The parts in order, if there is more than text. */
  blocks?: MessageBlock[];
  /**
   * Unique in its session, at most 128 UTF-16 code units. Default: a new id. A second message with a known id is not added.
   */
  id?: string;
  /** ISO 8601. Default: the time of the call. */
  timestamp?: string;
  /** `{ id, name, arguments }`, or OpenAI's `{ id, function: { name, arguments } }`. */
  toolCalls?: unknown[];
  /** In a tool's result: the id of its call. */
  toolCallId?: string;
  /** In a tool's result: true if the tool failed. */
  isError?: boolean;
  /** The message in another format, or its other fields, if this one does not hold all of it. */
  original?: object;
}

/** A message to add. Its content can be blocks, or null beside `toolCalls`. `toolResults` inside it throw a TypeError. */
export type NewConversationMessage = Omit<ConversationMessage, "content"> & {
  content: string | ContentBlock[] | null;
};

/** A session: its messages, and facts about it. */
export interface ConversationContext {
  sessionId: string;
  readonly messages: ConversationMessage[];
  metadata: { goal?: string; planId?: string; readonly createdAt: string; readonly updatedAt: string };
}

/**
 * The host's own summariser. If it throws, hangs, or returns no text or one longer than the messages (and than 2000 UTF-16
 * units), rules write the summary. Thinking that opens the text, in `<think>` tags, is dropped.
 * @param messages the messages to summarise
 * @param request a prompt with all of them, and sampling settings. `signal` aborts when time is up
 * @example async (_, { prompt, temperature, maxTokens, signal }) =>
 *   textOf(await complete(model, { messages: [user(prompt)] }, { temperature, maxTokens, signal }))
 */
export type Summarize = (
  messages: ConversationMessage[],
  request: { prompt: string; temperature: number; maxTokens: number; signal: AbortSignal },
) => Promise<string>;

/**
 * The host's service that calls a model. `callAI` gets the prompt, the current provider and `false`. If
 * `getCurrentProvider` returns none, rules write the summary.
 */
export interface AIService {
  // biome-ignore lint/suspicious/noExplicitAny: providers are the host's
  callAI(prompt: string, provider: any, useTools: boolean): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: providers are the host's
  getCurrentProvider?(): any;
}

/** Options of every manager. */
export interface SessionOptions {
  /** The manager compresses a session with more messages. Default 50. */
  maxMessages?: number;
  /**
   * Newest messages that a compression keeps, with the calls of their results, always fewer than `maxMessages`. Default 20.
   */
  maxCompressedMessages?: number;
  /** Language of the summaries by rules. Default "auto": the conversation's. */
  language?: "zh" | "en" | "auto";
  /** Writes the summaries, in the background. Default: rules write them, at once. */
  summarize?: Summarize | AIService;
  /** Longest time of a summariser, ms. Default 30 000. */
  summarizeTimeoutMs?: number;
  /** Longest prompt for the summariser, cl100k tokens. Default 16 000, at least 400. */
  summarizeTokens?: number;
  /** Receives events. A slow or throwing listener changes nothing. */
  onEvent?: (event: SessionEvent) => void;
}

export interface ContextManagerOptions extends SessionOptions {
  /** An open handle of better-sqlite3 or node:sqlite. Default: sessions live in memory. */
  database?: object;
}

export interface SharedContextManagerOptions extends SessionOptions {
  /** A `Pool` of the package pg, for Postgres 13 or newer. The manager never closes it. */
  pool: object;
  /** Time for which a call is repeated while the server is away, ms; 0 for one try. Default 10 000. */
  retryMs?: number;
}

/** Without `onEvent`, the first event of each kind but "compressed" is a process warning. */
export type SessionEvent =
  /** `before` and `after` count messages; `by` says who wrote the summary. */
  | { type: "compressed"; sessionId: string; before: number; after: number; by: "ai" | "rules" }
  /** The summariser threw, hung, or returned no text or too much. Rules wrote the summary. */
  | { type: "summarizeFailed"; sessionId: string; by: "rules"; code: string; message: string; cause: unknown }
  /** A compression in the background failed. The session is unchanged. */
  | { type: "compressFailed"; sessionId: string; code: string; message: string; cause: unknown }
  /** A message of an attached agent was not stored. */
  | { type: "storeFailed"; sessionId: string; code: string; message: string; cause: unknown }
  /** A row is unreadable and skipped. Without `messageId` it is the row with the session's metadata. */
  | {
      type: "rowUnreadable";
      sessionId: string;
      messageId?: string;
      code: string;
      message: string;
      cause: unknown;
    };

/**
 * Manages many sessions, in memory or in the host's database. Over `maxMessages` a session keeps its system prompt and its newest
 * messages, calls with their results. The messages between become one assistant message `[上下文总结] …`. Any string is a
 * session id.
 *
 * The methods are synchronous. With a database, a message is stored when `addMessage` returns, or with the host's open
 * transaction. Processes that share the database see each other's changes at each call.
 * @throws TypeError for an option, id or message that is not allowed; an Error with a `code` `ERR_DATABASE_…` for a
 *   database failure
 * @example const manager = new ContextManager({ database: new Database("app.db") });
 *   manager.getOrCreateContext("task-1", "You plan, execute and evaluate.");
 *   manager.addMessage("task-1", { role: "user", content: "Ship it" });
 */
export class ContextManager {
  /** Returns the one manager of this process. Only the first call takes options. */
  static getInstance(options?: ContextManagerOptions): ContextManager;
  /** Creates missing tables. Sets no PRAGMA and never closes the handle. */
  constructor(options?: ContextManagerOptions);
  /**
   * Returns the session, and creates it if it is missing. It is live: `messages` and `metadata` read the session at each access,
   * and setting `metadata.goal` or `metadata.planId` stores it. A shared manager resolves with a snapshot. The system prompt is
   * set only if the session has none.
   */
  getOrCreateContext(sessionId: string, systemPrompt?: string): ConversationContext;
  /**
   * Adds a message. Compresses a session over its limit: by rules at once, or in the background with `aiService` or the option
   * `summarize`. A system message that opens a session is its prompt.
   */
  addMessage(
    sessionId: string,
    message: NewConversationMessage,
    aiService?: Summarize | AIService | null,
  ): void;
  /** Returns the messages of a session, deeply frozen, with or without system messages; none for an unknown session. */
  getMessages(sessionId: string, includeSystem?: boolean): ConversationMessage[];
  /**
   * Compresses now, or joins a running compression. Without a service, the option `summarize` or the rules write the summary.
   * `by` is "none" if there is nothing to replace, or if another process does so or was faster.
   */
  compressContext(
    sessionId: string,
    aiService?: Summarize | AIService | null,
  ): Promise<{ before: number; after: number; by: "ai" | "rules" | "none" }>;
  /** Deletes a session, with its summary. */
  clearContext(sessionId: string): void;
  /**
   * Deletes messages, a call with its results. It deletes replaced messages too, and makes the summary again without them.
   * Deleting a summary deletes what it covers. Returns the deleted ids.
   */
  deleteMessages(sessionId: string, ids: string[]): string[];
  /** Replaces the system prompt. */
  setSystemPrompt(sessionId: string, systemPrompt: string): void;
  /** Sets the given fields; null removes one. */
  setMetadata(sessionId: string, metadata: { goal?: string | null; planId?: string | null }): void;
  /** Returns all sessions, oldest first. */
  listSessions(): {
    sessionId: string;
    messages: number;
    metadata: ConversationContext["metadata"];
  }[];
  /** Counts messages, cl100k tokens and compressions. Returns undefined for an unknown session. */
  getStats(sessionId: string): { messages: number; tokens: number; compressions: number } | undefined;
  /** Sets the number of messages over which a session is compressed. Throws a TypeError for a wrong number, such as 0. */
  setMaxMessages(n: number): void;
  /** Sets the number of messages that a compression leaves, from 0 on. Throws a TypeError for a wrong number. */
  setMaxCompressedMessages(n: number): void;
  /** Adds the messages, calls and results of an Agent to the session. Returns a function that stops this. */
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
 * Manages sessions in the host's Postgres, shared by many processes. A promise resolves when its change is committed. The first
 * call creates the tables.
 * @throws TypeError for an option that is not allowed
 * @example const manager = createSharedContextManager({ pool: new pg.Pool() });
 *   await manager.addMessage("task-1", { role: "user", content: "Ship it" });
 */
export function createSharedContextManager(options: SharedContextManagerOptions): SharedContextManager;

/**
 * Converts an AgentMessage to provider-neutral form, without thinking. Calls keep Gemini's `thoughtSignature`. Returns undefined for
 * one that a model never sees, such as a failed or aborted answer.
 */
export function fromAgentMessage(message: MessageLike): ConversationMessage | undefined;

/** A message that any pi version accepts as its own. */
export type AgentMessageLike =
  // biome-ignore lint/suspicious/noExplicitAny: each pi version has a message type of its own
  any;

/**
 * Converts provider-neutral messages to AgentMessages. Drops a tool result without its call and turns a summary into a user
 * message, because providers reject them. A part of OpenAI's without a block in pi becomes text: the address of an image, the
 * name of a file, the words of a refusal. `toOpenAIMessages` turns the text back into the part, and restores the fields of an
 * OpenAI message that pi does not have. `model` is the origin written into assistant messages. With the api
 * `openai-completions` an OpenAI message keeps its thinking, such as `reasoning_content`. Images and arguments are
 * restored, a system message as its text. Arguments that no object holds exactly also keep their text. An id of OpenAI's
 * Responses, `call_…|fc_…`, is cut before the `|`: its item needs reasoning that a session does not keep.
 * @throws TypeError for a list of another shape; it names the door for that shape.
 * @example agent.state.messages = toAgentMessages(await manager.getMessages("task-1", false), agent.state.model)
 */
export function toAgentMessages(
  messages: ConversationMessage[],
  model?: { api?: string; provider?: string; id?: string },
): AgentMessageLike[];

/** A question and its answer. */
export interface QA {
  q: string;
  a: string;
}

/** The options of `RollingMemory`. */
export interface RollingMemoryOptions {
  /** The model's context window in tokens, or a function called each time. If it returns none, 200 000 stands in. */
  contextWindow: number | (() => number);
  /**
   * Tokens sent beside the messages: system prompt, tools. A number, or a function called each time. Default 0. If the provider
   * reports more, that is used, also in the next conversation. If they fill more than three quarters of a ratio below, that ratio
   * applies to the rest of the window.
   */
  overheadTokens?: number | (() => number);
  /** Pairs to begin with, such as an earlier `history`. */
  history?: QA[];
  /** Longest prompt for the summariser, cl100k tokens. Default 16 000. */
  summarizeTokens?: number;
  /** Writes the pairs. Without it, or if it fails, texts are clipped, or replaced by keywords if they are still too long. */
  summarize?: Summarize;
  /** Share of the window over which a new conversation begins before a question. Default 0.85. */
  preCheckRatio?: number;
  /** The same after an answer. Default 0.8. */
  postCheckRatio?: number;
  /** Share of the window over which the memory itself is reported and cut. Default 0.8. */
  overflowRatio?: number;
  /** Newest messages kept in a new conversation, with the calls of their results, without Claude's thinking. Default 2. */
  keepMessages?: number;
  /** Most remembered pairs, at least one. The oldest go first. Default 15. */
  maxPairs?: number;
  /** Longest time of a summariser, ms. Default 30 000. */
  timeoutMs?: number;
  /** Receives events. A slow or throwing listener changes nothing. */
  onEvent?: (event: RollingEvent) => void;
}

export type RollingEvent =
  /** `summary` is the memory as JSON, `summarizedCount` the number of newly summarised messages. */
  | { type: "context_summarized"; summary: string; summarizedCount: number; hasHistorySummary?: boolean }
  /** `pendingUserMessage` is the waiting question. `isOverflow` is true if the memory was cut. */
  | {
      type: "new_conversation_with_summary";
      summary: string;
      summarizedCount: number;
      pendingUserMessage?: string;
      isOverflow?: boolean;
    }
  /** The memory has more than `tokenLimit` tokens. The message advises a clean window. */
  | { type: "context_overflow"; message: string; summaryTokens: number; tokenLimit: number }
  /** The summariser threw, hung or returned no pair. Text is clipped. Without `onEvent`, one process warning. */
  | { type: "summarizeFailed"; code: string; message: string; cause: unknown }
  /** The function threw or returned no window, so 200 000 stands in. Once. */
  | { type: "optionFailed"; option: "contextWindow"; message: string }
  /** The messages are returned as they are; ERR_UNKNOWN_SHAPE for another shape. Without `onEvent`, one process warning. */
  | { type: "failed"; code: string; message: string; cause: unknown };

/**
 * The endless conversation. When the transcript fills the window, its rounds become pairs of question and answer. A new
 * conversation begins with them, in a user message tagged as a record and no instruction. Sizes are cl100k tokens, or the
 * provider's own report of the newest request if that is more.
 * @throws TypeError for an option that is unknown or not allowed.
 * @example const memory = new RollingMemory({ contextWindow: () => agent.state.model.contextWindow, summarize });
 *   agent.state.messages = (await memory.beforePrompt(agent.state.messages, question)).messages;
 *   await agent.continue();
 *   agent.state.messages = (await memory.afterReply(agent.state.messages)).messages;
 */
export class RollingMemory {
  constructor(options: RollingMemoryOptions);
  /** Returns whether a new conversation is due: before the given question ("pre"), else after an answer. Counts on this thread. */
  needsContextSummarization(
    messages: MessageLike[],
    pendingUserMessage?: string | ContentBlock[],
  ): { needed: boolean; phase: "pre" | "post"; ratio: number };
  /** Returns the rounds to summarise, questions and final answers alone, and the remembered pairs. */
  getMessagesForSummarization(messages: MessageLike[]): { messages: ConversationMessage[]; history: QA[] };
  /**
   * Adds the pairs in a summariser's answer to the memory, whatever surrounds them. The answer covers the rounds of the first
   * `getMessagesForSummarization` since the last summary; a truncated one covers a round for each new pair. `beforePrompt` and
   * `afterReply` do not summarise covered rounds again.
   */
  applySummarization(summary: string): QA[];
  /**
   * Resolves with the messages to send, the question last, in a new conversation if it is time. Never rejects. While `afterReply`
   * still works on the same messages, it continues from its result. A transcript without messages opens with the memory, too.
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
  /** Forgets everything, also a running summary. */
  reset(): void;
  /** The remembered pairs, oldest first. */
  readonly history: QA[];
}
