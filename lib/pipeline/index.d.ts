/**
 * `pi-strata/pipeline`: provider, compressor and assembler for hosts that keep their own history.
 * @module pipeline
 */

import type { PipelineMessage } from "../sessions/index.js";

export type { MessageBlock, PipelineMessage } from "../sessions/index.js";

/** The source of a chat's history. */
export interface Provider {
  /** Resolves with the newest `limit` messages, oldest first. */
  getHistory(chatId: ChatId, limit: number): Promise<PipelineMessage[]>;
  /** Called after a cut, if present. The pipeline neither waits for it nor fails with it. */
  recordCompression?(event: CompressionEvent, chatId: ChatId): Promise<void>;
}

/** A whole number, or a text of at most 256 characters without NUL and lone surrogates. "42", 42 and 42n are one chat. */
export type ChatId = number | bigint | string;

/** Chooses the messages to keep. */
export interface Compressor {
  compress(messages: PipelineMessage[]): PipelineMessage[] | Promise<PipelineMessage[]>;
}

/** Puts a request together. */
export interface Assembler {
  assemble(system: string, history: PipelineMessage[], userMessage: string): PipelineMessage[];
}

/** A cut: numbers of messages before and after it, and the compressor's limits. */
export interface CompressionEvent {
  original_count: number;
  compressed_count: number;
  max_messages: number;
  max_chars_per_message: number;
}

/** The events of a stored history. Without a listener, the first of each kind is a process warning. */
export type HistoryEvent =
  /** Unreadable rows of a chat (no role, no text, bytes) were skipped. */
  | { type: "rows_skipped"; message: string; chatId: ChatId; rows: number }
  /** Rows of a chat have an unreadable `extra`. Only their role and text were read. */
  | { type: "extra_unreadable"; message: string; chatId: ChatId; rows: number }
  /** The table has no column `extra`, so calls and images are not stored. Once per provider. */
  | { type: "extra_left_out"; message: string };

export interface HistoryOptions {
  /** Name of the host's table of messages, with its schema or without. Default "history". */
  historyTable?: string;
  /** Name of the table of events. A missing one is created. Default "events". */
  eventsTable?: string;
  /** Receives events; an error of its own changes nothing. */
  onEvent?: (event: HistoryEvent) => void;
}

/**
 * Keeps history in the host's own table `history(id, chat_id, role, text, created_at)`, by the host's handle of better-sqlite3 or
 * node:sqlite. It never creates or alters the table, sets no PRAGMA and never closes the handle. With a column `extra` (text) it
 * stores tool calls and images too. It writes `created_at` in the type of the newest row. Rows are in the order of their ids; text
 * ids, such as UUIDs, are ordered by `created_at`.
 * Failures reject with a `code`: ERR_DATABASE_BUSY, _NO_TABLE, _FOREIGN (a table of another shape, or one whose constraint
 * refuses the row), _READ_ONLY, _FULL, _CORRUPT, _DISK, _CLOSED.
 * @throws TypeError for options that are not allowed; its code is ERR_DATABASE_HANDLE for a handle of another kind
 * @example const provider = new SqliteProvider({ db }); await provider.append(42, { role: "user", content: "hi" });
 */
export class SqliteProvider implements Provider {
  constructor(options: HistoryOptions & { db: object });
  getHistory(chatId: ChatId, limit: number): Promise<PipelineMessage[]>;
  /** Resolves with the row's id once the message is stored; NaN for an id that no number holds, such as a text or a snowflake. */
  append(chatId: ChatId, message: PipelineMessage): Promise<number>;
  /** Stores one `context.compressed` event. */
  recordCompression(event: CompressionEvent, chatId?: ChatId): Promise<void>;
}

/**
 * The same in Postgres, by the host's pool of the package pg. While the server is away, it repeats a call for ten seconds.
 * Failures reject with a `code`: SQLite's, and ERR_DATABASE_UNAVAILABLE, _TIMEOUT, _AUTH, _PERMISSION, _VALUE (a value that the
 * column cannot hold) and _UNCERTAIN (the commit had no answer).
 * @throws TypeError for options that are not allowed
 * @example const provider = new PostgresProvider({ pool: new pg.Pool() });
 */
export class PostgresProvider implements Provider {
  constructor(options: HistoryOptions & { pool: { connect(): Promise<unknown> } });
  getHistory(chatId: ChatId, limit: number): Promise<PipelineMessage[]>;
  /** Resolves with the row's id once the message is stored; NaN for an id that no number holds, such as a text or a snowflake. */
  append(chatId: ChatId, message: PipelineMessage): Promise<number>;
  /** Stores one `context.compressed` event. */
  recordCompression(event: CompressionEvent, chatId?: ChatId): Promise<void>;
}

/**
 * Keeps the newest `maxMessages` (12), with the calls of their results. Cuts each to `maxCharsPerMessage` (4000 UTF-16 code
 * units); a cut text ends in `…`. Drops calls without a result and results without their call: providers reject them.
 * Returns the same array if nothing is cut.
 * @throws TypeError for a limit that is no whole number from 1 on
 */
export class SimpleCompressor implements Compressor {
  constructor(options?: { maxMessages?: number; maxCharsPerMessage?: number });
  readonly maxMessages: number;
  readonly maxCharsPerMessage: number;
  compress(messages: PipelineMessage[]): PipelineMessage[];
}

/** Joins the system prompt (unless empty), the history and the user's message. */
export class StandardAssembler implements Assembler {
  assemble(system: string, history: PipelineMessage[], userMessage: string): PipelineMessage[];
}

/** Runs provider, compressor and assembler. Each can be the host's own. */
export class Pipeline {
  /**
   * @param options.compressor default `new SimpleCompressor(pipelineConfigFromEnv())`
   * @param options.historyLimit messages read from the provider; default 38 more than the compressor's `maxMessages`
   * @param options.onEvent called if a cut could not be recorded; without it, one process warning
   * @throws TypeError without a provider, and for other options that are not allowed
   */
  constructor(options: {
    provider: Provider;
    compressor?: Compressor;
    assembler?: Assembler;
    historyLimit?: number;
    onEvent?: (event: { type: "recordFailed"; code: string; message: string; cause: unknown }) => void;
  });
  /**
   * Resolves with the messages of a request. The provider records a cut, once per turn; the request does not wait for that.
   * @example const messages = toOpenAIMessages(await pipeline.prepare(42, "Be brief.", "And now?"))
   */
  prepare(chatId: ChatId, system: string, userMessage: string): Promise<PipelineMessage[]>;
}

/**
 * Reads `TG_HISTORY_WINDOW` (12) and `MAX_CHARS_PER_MESSAGE` (4000) from the environment.
 * @throws TypeError if one is set and no whole number from 1 on.
 */
export function pipelineConfigFromEnv(env?: Record<string, string | undefined>): {
  maxMessages: number;
  maxCharsPerMessage: number;
};
