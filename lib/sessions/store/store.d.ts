// The duties of a store of sessions, for whoever writes one. The manager decides what a conversation may let go; a
// store keeps rows, in order, and says truthfully what became of each change.

/**
 * A place where sessions are kept: SQLite (in memory or a file), Postgres, or a host's own.
 *
 * Names. A session is named by `namespace` and `key`. Both, and every `id`, `body`, `text`, field name and value, are
 * well-formed Unicode without NUL (the manager writes keys, bodies and values as JSON, which escapes the rest). A key
 * may be 6 MB long: index a digest of it. Two namespaces never see each other.
 *
 * Time. `createdAt` and `updatedAt` are ms since 1970 by the store's own clock, never by the client's.
 *
 * Calls. The manager never has two calls of `apply` under way that name the same session, and at most `parallel` in all.
 * Reading may happen at any time. A call that fails rejects with an Error that has a stable `code`; its message never
 * holds text of a conversation, a connection string or a password.
 */
export interface Store {
  /** For `getStats` and errors: "sqlite", "postgres", … */
  readonly engine: string;
  /** Calls of `apply` that may be under way at once; default 1. */
  readonly parallel?: number;
  /** True if what a session lets go is deleted instead of kept for search. Default false; the in-memory store does. */
  readonly forgets?: boolean;

  /**
   * Opens what is there or makes it; called before anything else, and again only where it rejected. Refuses what a newer
   * release made (`ERR_DATABASE_VERSION`).
   * @param report takes events for the host: reconnecting, a damaged file salvaged. Never throws.
   */
  open(report: (event: StoreEvent) => void): Promise<void>;

  /**
   * Commits all operations in one transaction, in the order given, or none. The answer has one outcome for each, in the
   * same order; none of no operations. Rejects for a `kind` that it does not know, before it changes anything.
   *
   * Resolves only when the store would give the changes back after a crash of this process and, where it has one, of
   * its server. Rejects when nothing was stored. Where a store cannot know (the connection broke during the commit) it
   * may repeat "append", "fields" and "delete", which come to the same, and a "compress" by its revision and the id of its
   * summary; it must not repeat a "clear", which could take what came after it: it rejects with `ERR_STORE_UNCERTAIN`.
   */
  apply(operations: StoreOperation[]): Promise<StoreOutcome[]>;

  /**
   * `apply` at once, for a process that ends: after all that is under way, and however long that takes. Without it, a
   * session may be there again that its host cleared just before the process ended.
   */
  applyLast?(operations: StoreOperation[]): void;

  /**
   * Resolves when nothing is left of the sessions that were cleared, where "clear" itself does not see to that. No write
   * waits for it, and it holds none up.
   */
  erase?(): Promise<void>;

  /** A session as it is now, in one snapshot; undefined if there is none. */
  load(namespace: string, key: string): Promise<StoredSession | undefined>;

  /** The stamp alone: what tells whether a loaded session is still up to date. Undefined if there is no session. */
  stamp(namespace: string, key: string): Promise<Stamp | undefined>;

  /**
   * Messages of a session, those let go too, in the order they were appended (`seq`): the first `limit` after `after`.
   */
  read(namespace: string, key: string, page: { after?: number; limit: number }): Promise<StoredMessage[]>;

  /**
   * Sessions of a namespace, one page. Each session that exists all the while is on exactly one page of order
   * "created"; in order "updated", one that changes meanwhile may move to a page already read.
   */
  list(query: ListQuery): Promise<{ sessions: ListedSession[]; cursor?: string }>;

  /**
   * Messages whose words hold every phrase, the newest appended first, over all sessions of the namespace or in that of
   * `key`; those let go too. Phrases come in the form that `searchForm`, which pi-strata exports, gives a text: its words in
   * lower case without accents, each Chinese or Japanese character a word, one space between. A phrase is in a text if the
   * words follow each other there, the last of them as a beginning: `(" " + searchForm(text)).includes(" " + phrase)`.
   * No phrases: no hits. Summaries are not found: they come without text.
   */
  search(query: SearchQuery): Promise<StoreHit[]>;

  /**
   * Forgets for good the sessions of a namespace whose `updatedAt` is below `before` (ms since 1970), and of the others the
   * messages let go whose `at` is. What a session still keeps stays. The answer counts the sessions that are gone, and all
   * messages that are: those of these sessions, summaries and let go ones included, and the others' let go ones.
   */
  prune(namespace: string, before: number): Promise<{ sessions: number; messages: number }>;

  /**
   * Closes when what is under way is done. Closing twice does nothing; every other call rejects afterwards, with the code
   * `ERR_DATABASE_CLOSED`.
   */
  close(): Promise<void>;
}

/**
 * One change to one session. "append", "fields" and "import" make the session if there is none.
 *
 * - "append": messages at the end, in this order. An `id` that the session has already is not stored again (so a
 *   repeated append is harmless).
 * - "fields": each field by itself: a string sets it, null removes it, what is not named stays as it is. With
 *   `prompt`, the system prompt: set if it is a string; `promptIfAbsent` sets it only where there is none, in the same
 *   statement that looks, so that two processes never both set one.
 * - "compress": a summary in place of messages. Compare and swap: only if the session's number and
 *   `revision` are these (so never in a successor of the same key), else nothing happens and the outcome says so. Messages named in `letGo` are no longer live, or deleted where `forget`;
 *   the summary gets the place of the last of them. `digest` replaces, `tokensSaved` is added, `compressions` grows by one.
 * - "delete": the messages of these ids, live or let go, are gone for good, with their words. Unknown ids are skipped.
 * - "clear": the session and all it ever had are gone for good, with all words. A later change begins a new session, with
 *   a new `session` number. Clearing what is not there is no error.
 * - "import": a whole session as it was exported, with the ids, seqs and places it had. Only where there is no session of
 *   that key, else nothing happens and the outcome says so. Later appends get seqs above the greatest imported.
 */
export type StoreOperation = { namespace: string; key: string } & (
  | { kind: "append"; messages: NewMessage[] }
  | { kind: "fields"; fields?: Record<string, string | null>; prompt?: string; promptIfAbsent?: boolean }
  | {
      kind: "compress";
      session: number;
      revision: number;
      letGo: string[];
      forget: boolean;
      summary: { id: string; body: string };
      digest: string;
      tokensSaved: number;
    }
  | { kind: "delete"; ids: string[] }
  | { kind: "clear" }
  | { kind: "import"; state: ImportedState; messages: ImportedMessage[] }
);

/** A message to be appended. `id` is unique in its session; `text` is what can be searched. */
export interface NewMessage {
  id: string;
  body: string;
  text: string;
}

/**
 * The outcome of one operation. `applied` is false for a "compress" whose revision was not the session's, for a
 * "clear", "compress" or "delete" of a session that is not there, and for an "import" of one that is; `stamp` is then what
 * the session is now, if it is: `{ applied: false }` is the whole answer where it is not.
 */
export interface StoreOutcome {
  applied: boolean;
  /** The session after this operation. Absent, not undefined or null, where there is none: so after every "clear". */
  stamp?: Stamp;
  /** Of "fields" with `promptIfAbsent`: the prompt that is there now. */
  prompt?: string;
}

/** Tells one state of a session from another. */
export interface Stamp {
  /** Number of the session, never given to another one: not even to its successor of the same key. */
  session: number;
  /** Grows by exactly one with every operation that is applied to the session. */
  version: number;
  /** Grows with "compress" and "delete" alone: what the session keeps, but for what was appended. */
  revision: number;
  createdAt: number;
  /** Time of the newest operation. */
  updatedAt: number;
}

/** A session with what it keeps, in order of place, then of seq. */
export interface StoredSession {
  stamp: Stamp;
  prompt?: string;
  fields: Record<string, string>;
  digest: string;
  compressions: number;
  tokensSaved: number;
  messages: StoredMessage[];
}

export interface StoredMessage {
  id: string;
  /** Grows by one from message to message of a session, in the order the store took them, summaries included. */
  seq: number;
  /** Its place among those the session keeps: its seq; for a summary the place of the last message it replaced. */
  place: number;
  isLive: boolean;
  isSummary: boolean;
  body: string;
  /** When it was appended, ms since 1970. */
  at: number;
}

export interface ImportedMessage extends NewMessage {
  /** From 1 on, no two alike in a session. */
  seq: number;
  place: number;
  isLive: boolean;
  isSummary: boolean;
}

export interface ImportedState {
  prompt?: string;
  fields: Record<string, string>;
  digest: string;
  compressions: number;
  tokensSaved: number;
}

export interface ListQuery {
  namespace: string;
  /** "created": the oldest first. "updated": the one last changed first. */
  order: "created" | "updated";
  limit: number;
  /** The cursor of the page before; opaque. A cursor that is none rejects with `ERR_BAD_CURSOR`. */
  cursor?: string;
}

export interface ListedSession {
  key: string;
  createdAt: number;
  updatedAt: number;
  /** Messages it keeps, without the prompt. */
  messages: number;
  fields: Record<string, string>;
}

export interface SearchQuery {
  namespace: string;
  key?: string;
  phrases: string[];
  limit: number;
}

export interface StoreHit {
  key: string;
  id: string;
  body: string;
  isLive: boolean;
}

export type StoreEvent =
  /** A damaged file was copied aside; `salvaged` of its messages could be read and are in the new one. */
  | { type: "storeSetAside"; store: string; movedTo: string; salvaged: number }
  /** The server cannot be reached; `attempt` counts. Writes wait, or reject when their time is over. */
  | { type: "storeReconnecting"; code: string; message: string; attempt: number };
