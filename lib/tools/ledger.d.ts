/**
 * `pi-strata/ledger`: the bill of a transcript.
 * @module ledger
 */

import type { CacheMissCause, MessageLike, TransformContextOptions } from "../../index.js";

/**
 * Reads the bill from the usage in a transcript: dollars billed, cache misses and their causes, what the hook cost and
 * saved. Pass the options of the hook that sent the requests. The ledger runs that hook over the list before each call, off
 * the main thread. If the reported sizes show that the hook was not at work, it gets no cost and no saving. Edits nothing.
 * Dollars are US dollars; tokens are the provider's, as reported.
 * @throws TypeError for wrong options; ERR_NATIVE_UNAVAILABLE if the native addon cannot be loaded.
 * @example (await ledger(agent.state.messages, options)).dollars // { billed, estimated, withoutHook, saved }
 */
export function ledger<M extends MessageLike>(messages: M[], options?: LedgerOptions): Promise<Ledger>;

/**
 * Dollars per million tokens. `read` and `write` default to the ratios of the model's family, `output` to 5 × `input`. Tokens in
 * `usage.cacheWrite1h` cost 2 × `input`.
 */
export interface TokenPrices {
  input: number;
  read?: number;
  write?: number;
  output?: number;
}

export interface LedgerOptions extends TransformContextOptions {
  /** Prices for calls without `usage.cost`, for every model. Without them such calls have no dollars. */
  prices?: TokenPrices;
}

/** One call to the model. Give both `tokensRaw` and `tokensSent`, or the bill covers only usage and expiry. */
export interface BillRow {
  /** The usage that the provider reported, as pi writes it. */
  usage?: object;
  /** `provider/model`, or any other name of the cache. */
  model?: string;
  /** Estimated prompt tokens of the whole list. */
  tokensRaw?: number;
  /** Estimated prompt tokens of the request. */
  tokensSent?: number;
  /** The first message that differs from the last request. */
  firstChanged?: number;
  /** The schedule's reason, word for word; absent if the host changed the list. */
  reason?: string;
  /** When the request was made, in ms. */
  at?: number;
}

/** What one call cost. Dollars are undefined without a price. */
export interface BillLine {
  /** The call, from 1. */
  call: number;
  /** Tokens of the prompt, and those read from the cache; undefined without a usable report. */
  prompt?: number;
  cacheRead?: number;
  /** Dollars for the call. */
  dollars?: number;
  /** Dollars for its prompt. */
  input?: number;
  /** Dollars that the prompt would have cost more without the hook. */
  saved?: number;
  miss?: Ledger["misses"][number];
}

/**
 * The bill of one conversation, call by call, for hosts that watch a hook.
 * @example
 * const bill = new Bill();
 * let sent;
 * const hook = createTransformContext({ onEvent: (event) => event.type === "transformed" && (sent = event) });
 * agent.subscribe(({ type, message }) => {
 *   if (type === "message_end" && message.role === "assistant") bill.enter(rowOf(sent, message, Date.now()));
 * });
 * bill.report().dollars.saved
 */
export class Bill {
  constructor(options?: {
    /** Prices for calls without `usage.cost`: for every model, or by a function of a row's `model`. */
    prices?: TokenPrices | ((model: string) => TokenPrices | undefined);
    /** Window for `callsOverWindow`, in tokens. */
    contextWindow?: number;
    /** Seconds a cache entry lives. Default: 300, or an hour with `usage.cacheWrite1h`; longer if usage proves it. */
    ttlSeconds?: number;
    /** When the host kept the cache warm, in ms. */
    warmedAt?: number[] | (() => number[]);
  });
  /** Adds the next call; returns its line. */
  enter(row: BillRow): BillLine;
  /** Returns the bill so far. */
  report(): Ledger;
}

/** The row of a call: its `transformed` event, if any, the assistant message that answered it, and when it was made (ms). */
export function rowOf(event: object | undefined, answer: object, at: number): BillRow;

export interface Ledger {
  /** Assistant messages, failed ones too. */
  calls: number;
  /** Calls without usable usage; no sum includes them. */
  unreportedCalls: number;
  /** Calls without a price: their tokens count, their dollars do not. */
  unpricedCalls: number;
  /** Calls whose request the hook had edited. */
  editedCalls: number;
  /** Calls that would exceed the window without the hook; `withoutHook` assumes that they fit. */
  callsOverWindow: number;
  /** Over all calls; `saved` is the estimate of what the hook left out. */
  tokens: { prompt: number; cacheRead: number; cacheWrite: number; output: number; saved: number };
  /** Share of prompt tokens read from the cache. */
  hitRate: number;
  /** Undefined if no call has a price. */
  dollars: {
    /** Dollars billed, answers included. */
    billed?: number;
    /** The part computed from prices, for calls without `usage.cost`: a subscription reports a cost of 0. */
    estimated?: number;
    /** Estimate for sending the whole list at every call. */
    withoutHook?: number;
    /** `withoutHook` minus `billed`. */
    saved?: number;
  };
  /** Every miss, oldest first. */
  misses: {
    /** The call, from 1. */
    call: number;
    /** Position of its answer in the list; absent in a `Bill`'s own report. */
    index?: number;
    cause: CacheMissCause;
    /** Tokens that could have been read from the cache and were not. */
    tokens: number;
    /** Their cost above the price of reading; undefined without a price. */
    dollars?: number;
  }[];
  /** Every call at which the hook changed earlier messages of the request, oldest first. */
  moves: {
    /** The call, from 1. */
    call: number;
    /** Position of its answer in the list; absent in a `Bill`'s own report. */
    index?: number;
    reason?: string;
    /** Tokens removed, estimated. */
    tokens: number;
    /** Tokens written to the cache again because of it. */
    rewritten: number;
    /** Dollars for that; undefined without a price. */
    cost?: number;
    /** Dollars that the removed tokens would have cost since. All `saved` minus all `cost` is `dollars.saved`. */
    saved?: number;
  }[];
}
