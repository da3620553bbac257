/**
 * `pi-strata/ledger`: the bill of a transcript.
 * @module ledger
 */

import type { CacheMissCause, MessageLike, TransformContextOptions } from "../../index.js";

/**
 * Reads the bill back from the usage in a transcript: what was paid, what the provider's cache missed and why, what the hook
 * cost and saved. Give the options of the hook that sent it: the hook is run over the list before each call, off the main
 * thread, and tells what was sent there. Where the reported sizes show that the hook was not at work, nothing is put down to
 * it. Edits nothing. Dollars are US dollars; tokens are the provider's, as reported.
 * @throws TypeError for options that are not allowed; ERR_NATIVE_UNAVAILABLE where the native addon cannot be loaded.
 * @example (await ledger(agent.state.messages, options)).dollars // { billed, estimated, withoutHook, saved }
 */
export function ledger<M extends MessageLike>(messages: M[], options?: LedgerOptions): Promise<Ledger>;

/** Dollars per million tokens. `read` and `write` default to the ratios of the model's family, `output` to 5 × `input`. */
export interface TokenPrices {
  input: number;
  read?: number;
  write?: number;
  output?: number;
}

export interface LedgerOptions extends TransformContextOptions {
  /** Prices for all models, used for calls whose `usage.cost` tells nothing. Without them such calls have no dollars. */
  prices?: TokenPrices;
}

/** One call to the model. Without `tokensRaw` and `tokensSent` the bill knows only usage and expiry. */
export interface BillRow {
  /** The usage that the provider reported, as pi writes it. */
  usage?: object;
  /** `provider/model`, or any name that tells one cache from another. */
  model?: string;
  /** Estimated prompt tokens of the whole list, and of what was sent. */
  tokensRaw?: number;
  tokensSent?: number;
  /** The first message that was sent otherwise than in the last request. */
  firstChanged?: number;
  /** The schedule's reason, word for word; absent where the host changed the list. */
  reason?: string;
  /** When the request was made, in ms. */
  at?: number;
}

/** What one call cost. Dollars are undefined where nothing tells a price. */
export interface BillLine {
  /** The call, from 1. */
  call: number;
  /** Tokens of the prompt, and those read from the cache; undefined without a usable report. */
  prompt?: number;
  cacheRead?: number;
  /** Paid for the call, and for its prompt alone. */
  dollars?: number;
  input?: number;
  /** The prompt would have cost this much more without the hook. */
  saved?: number;
  miss?: Ledger["misses"][number];
}

/**
 * The bill of one conversation, call by call, for hosts that watch a hook.
 * @example
 * const bill = new Bill();
 * let sent;
 * const hook = createTransformContext({ onEvent: (event) => event.type === "transformed" && (sent = event) });
 * agent.subscribe((event) => event.message?.role === "assistant" && bill.enter(rowOf(sent, event.message, Date.now())));
 * bill.report().dollars.saved
 */
export class Bill {
  constructor(options?: {
    /** Used for calls whose usage tells no cost: for every model, or a function of a row's `model`. */
    prices?: TokenPrices | ((model: string) => TokenPrices | undefined);
    /** Calls whose whole list is larger are counted as `callsOverWindow`. */
    contextWindow?: number;
    /** Seconds a cache entry lives. Default: as the model's family documents, longer where usage proves it. */
    ttlSeconds?: number;
    /** When the host kept the cache warm, in ms. */
    warmedAt?: number[] | (() => number[]);
  });
  enter(row: BillRow): BillLine;
  report(): Ledger;
}

/** The row of a call: its `transformed` event, the assistant message that answered it, and when it was made (ms). */
export function rowOf(event: object, answer: object, at: number): BillRow;

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
  /** `saved`: tokens that the hook left out, over all calls, estimated. */
  tokens: { prompt: number; cacheRead: number; cacheWrite: number; output: number; saved: number };
  /** Share of all prompt tokens that came from the cache. */
  hitRate: number;
  /** Undefined where no call has a price. */
  dollars: {
    /** Paid, answers included. */
    billed?: number;
    /** The part of it that no `usage.cost` told, reckoned from prices: a subscription reports a cost of 0. */
    estimated?: number;
    /** Estimated: what the whole list would have cost at every call. */
    withoutHook?: number;
    /** `withoutHook` less `billed`. */
    saved?: number;
  };
  /** Every miss, oldest first. */
  misses: {
    /** The call, from 1. */
    call: number;
    /** Position of its answer in the list; absent in a `Bill`'s own report. */
    index?: number;
    cause: CacheMissCause;
    /** Tokens that could have been read, and were not. */
    tokens: number;
    /** Their cost beyond being read; undefined without a price. */
    dollars?: number;
  }[];
  /** Every call at which the hook changed what it had sent before, oldest first. */
  moves: {
    /** The call, from 1. */
    call: number;
    /** Position of its answer in the list; absent in a `Bill`'s own report. */
    index?: number;
    reason?: string;
    /** Tokens it took out, estimated. */
    tokens: number;
    /** Tokens that had to be written anew for it. */
    rewritten: number;
    /** The cost of that, in dollars; undefined without a price. */
    cost?: number;
    /** What the tokens it took out would have cost from that call on; all `saved` less all `cost` is `dollars.saved`. */
    saved?: number;
  }[];
  /** Errors of the estimated prompts, as shares of what was reported: half are within `median`, 95 of 100 within `p95`. */
  predicted: { count: number; median: number; p95: number };
}
