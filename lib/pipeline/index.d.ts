/**
 * `pi-strata/pipeline`: provider, compressor and assembler for hosts that keep their own history.
 * @module pipeline
 */

import type { PipelineMessage, PostgresOptions } from "../sessions/index.js";

export type { MessageBlock, PipelineMessage, PostgresOptions } from "../sessions/index.js";

/** The source of a chat's history. */
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

/** Chooses what is kept of a history. */
export interface Compressor {
  compress(messages: PipelineMessage[]): PipelineMessage[] | Promise<PipelineMessage[]>;
}

/** Puts a request together. */
export interface Assembler {
  assemble(system: string, history: PipelineMessage[], userMessage: string): PipelineMessage[];
}

export interface CompressionEvent {
  original_count: number;
  compressed_count: number;
  max_messages: number;
  max_chars_per_message: number;
}

/** The events of a stored history; where nobody listens, a process warning says it once. */
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
 * stored together, up to 1 000 messages in one transaction.
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

/**
 * History in Postgres, in tables as `SqliteProvider` has them; a host's may have other types.
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
