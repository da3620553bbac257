/**
 * `pi-strata/ledger`: the bill of a transcript.
 * @module ledger
 */

import type { CacheMissCause, MessageLike, TransformContextOptions } from "../../index.js";

/**
 * The bill, read back from the transcript's own usage: what was paid, what the provider's cache missed and why, what the
 * hook cost and saved. Give the options of the hook that sent it: the schedule is played over the transcript once more, and
 * tells what was sent at every call. Where the reported sizes show that the hook was not at work, nothing is put down to
 * it. Off the main thread; edits nothing. Dollars are US dollars; tokens are the provider's, as reported.
 * @throws TypeError for options that are not allowed; ERR_NATIVE_UNAVAILABLE where the native addon cannot be loaded.
 * @example (await ledger(agent.state.messages, options)).dollars // { billed, estimated, withoutHook, saved }
 */
export function ledger<M extends MessageLike>(messages: M[], options?: LedgerOptions): Promise<Ledger>;

export interface LedgerOptions extends TransformContextOptions {
  /**
   * Dollars per million tokens, for all models and what no bill tells. The others follow from `input` (a tenth, 1.25 times,
   * 5 times). Default: as billed (`usage.cost`), else from a list by the model's name.
   */
  prices?: { input: number; read?: number; write?: number; output?: number };
}

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
  tokens: { prompt: number; cacheRead: number; cacheWrite: number; output: number };
  /** Share of all prompt tokens that came from the cache. */
  hitRate: number;
  dollars: {
    /** Paid, answers included. */
    billed: number;
    /** The part of it that no `usage.cost` told: reckoned from prices, for instance on a subscription, which says 0. */
    estimated: number;
    /** Estimated: what the whole transcript would have cost at every call. */
    withoutHook: number;
    /** `withoutHook` less `billed`. */
    saved: number;
  };
  /** Every miss, oldest first. */
  misses: {
    /** The call, from 1. */
    call: number;
    /** Position of its answer. */
    index: number;
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
    /** Position of its answer. */
    index: number;
    reason: string;
    /** Tokens it took out, estimated. */
    tokens: number;
    /** Tokens that had to be written anew for it. */
    rewritten: number;
    /** The cost of that, in dollars. */
    cost: number;
    /** The cost that the tokens it took out would have had from that call on, in dollars: all `saved` less all `cost` is `dollars.saved`. */
    saved: number;
  }[];
  /** Errors of our predictions, as shares of what was reported: half are within `median`, 95 of 100 within `p95`. */
  predicted: {
    prompt: { count: number; median: number; p95: number };
    cacheRead: { count: number; median: number; p95: number };
  };
}
