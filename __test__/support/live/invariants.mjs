// What must hold at every call of the closed loop. Nothing here trusts the hook's own figures.

import { validate } from "../../../index.js";
import contract from "../../../lib/contract.js";
import { isTold, Judge, MOST_ERROR, nameOf } from "./judge.mjs";
import { commonRun } from "./same.mjs";

/** Tokens by which an estimate may be off however small the prompt is: a report that small could be true. */
const LEAST_ERROR_TOKENS = 800;
/** What changed since the last report can be known no better than the provider's scale: this far off before reports */
const UNLEARNED_ERROR = 0.3;
/**
 * and half as far once they have shown this many tokens of text: a report shows by how much a prompt grew or shrank, not
 * what went out while as much came in.
 */
const LEARNED_TOKENS = 5000;
/** How much further than from the water a prompt must be while the provider's scale is not known yet. */
const UNKNOWN_SCALE = 1.5;
/** Every so many calls the providers' rules are checked where nothing moved; looking costs more than the call. */
const VALIDATE_EVERY = 8;
/** Reports of the model in use before its scale is known. */
const REPORTS = 2;
/** Requests in a row that may be refused for their length while anything more could be left out of them. */
const MOST_REFUSED = 2;
/** The newest results, which stay whole below every limit, and the newest messages, which go behind all others. */
const NEWEST_RESULTS = 6;
const NEWEST_MESSAGES = 20;
/** The size of a text that was cut to fit is known to within so many tokens. */
const CUT_ERROR_TOKENS = 5;
/** A request is the smallest there can be from this share on. */
const LEAST_SHARE = 0.97;

/** Checks the calls of one conversation, one after the other. */
export class Invariants {
  #loop;
  #judge;
  #isTruthful;
  #slackTokens;
  /** By model, since it came into use: how many reports, tokens of text they have shown, the request of the last one. */
  #reports = new Map();
  #lastModel;
  #refusedInARow = 0;
  #lastGiven = [];
  /** The last request, as long as the host has only added to it. */
  #lastSent = [];

  /** @param options.isTruthful whether the provider's reports can be relied on, by and large; `isHonest`: each of them */
  constructor(loop, { isTruthful = true, isHonest = true } = {}) {
    this.#slackTokens = isHonest ? 0 : LEAST_ERROR_TOKENS;
    this.#loop = loop;
    this.#judge = new Judge(loop);
    this.#isTruthful = isTruthful;
  }

  /** As the judge's. */
  hostChanged(change) {
    this.#judge.hostChanged(change);
    this.#reports.clear();
    this.#lastSent = [];
  }

  /** What is broken at this call, in words with figures; empty if nothing. */
  check(record) {
    const allowed = this.#allowed(record);
    const verdict = this.#judge.look(record, allowed);
    const broken = [...this.#kept(record, verdict), ...this.#always(record, verdict)];
    if (this.#isTruthful) broken.push(...this.#figures(record, verdict, allowed));
    this.#note(record);
    return broken;
  }

  *#always(record, { changed }) {
    const { call, failure, given, sent, before, unchanged, reason } = record;
    if (failure !== undefined) yield `failed: ${failure}`;
    if (changed > 0) yield `frozen: ${changed} of ${before.length} messages changed, and it says "${reason}"`;
    if (sent !== given && (unchanged < before.length || call % VALIDATE_EVERY === 0)) {
      const [problem] = validate(sent);
      if (problem !== undefined && validate(given).length === 0) yield `invalid: ${problem.rule}`;
    }
    const question = given.findLast(({ role }) => role === "user");
    if (question !== undefined && !sent.some((message) => isSame(message, question)))
      yield "question: the last user message is gone";
    // A hook is not told of a refusal whose answer was lost.
    const isRefused = record.isRefused && !record.isLost;
    this.#refusedInARow =
      isRefused && goesOn(given, this.#lastGiven) ? this.#refusedInARow + 1 : Number(isRefused);
    this.#lastGiven = given;
    if (this.#refusedInARow > MOST_REFUSED && !isLeast(record))
      yield `refused: ${this.#refusedInARow} times in a row; estimate ${Math.round(record.estimate)}, sent ${record.prompt}`;
  }

  /** What a batch may take: it brings only the user's text back, spares the newest results, and takes the user's words last. */
  *#kept({ given, sent, schedule, model }, { known: whole }) {
    const { provider } = this.#loop;
    const tokensOf = (messages) => new Map(messages.map((of) => [nameOf(of), provider.tokensOf(of, model)]));
    const [before, now] = [tokensOf(this.#lastSent), tokensOf(sent)];
    const known = new Set(this.#lastGiven.map(nameOf));
    for (const result of given.filter(({ role }) => role === "toolResult").slice(-NEWEST_RESULTS)) {
      const [name, tokens] = [nameOf(result), provider.tokensOf(result, model)];
      const wasWhole = !known.has(name) || before.get(name) === tokens;
      const hasRoom = UNKNOWN_SCALE * whole < 0.5 * provider.contextWindow;
      if (hasRoom && wasWhole && now.get(name) !== tokens) yield `newest: ${name} is cut with room left`;
    }
    const last = new Map(this.#lastSent.map((of) => [nameOf(of), of]));
    // The first answer tells the encoding: until then messages are counted by another, and cut to other sizes.
    this.#lastSent = given.some(({ role }) => role === "assistant") ? sent : [];
    if (schedule === "everyCall") return;
    for (const [name, tokens] of now)
      if (
        last.get(name)?.role !== "user" &&
        tokens > before.get(name) &&
        tokens > before.get(name) + errorOf(last.get(name))
      )
        yield `regrown: ${name} had ${before.get(name)} tokens, now ${tokens}`;
    // Without any report it is the layers, which drop by age alone.
    if (!this.#isTruthful || this.#reports.size === 0) return;
    const older = given.filter(({ role }) => role !== "system").slice(0, -NEWEST_MESSAGES);
    const isLost = older.some((of) => of.role === "user" && before.has(nameOf(of)) && !now.has(nameOf(of)));
    if (isLost && older.some((of) => of.role === "assistant" && now.has(nameOf(of))))
      yield "user: words went before an older answer";
  }

  *#figures(record, { error, whole, isUnreported, lost }, allowed) {
    const { prompt, estimate, model, saysOverflow, reason } = record;
    const { count } = this.#reports.get(model) ?? NO_REPORTS;
    const isKnown = count >= REPORTS && this.#lastModel === model;
    const window = this.#loop.provider.contextWindow;
    const figures = `estimate ${Math.round(estimate)}, sent ${prompt}, window ${window}; ${reason}`;
    if (isKnown && Math.abs(error) > allowed && Math.abs(error) * prompt > this.#slackTokens)
      yield `estimate: off by ${(100 * error).toFixed(2)} %, allowed ${(100 * allowed).toFixed(2)}; ${figures}`;
    if (isKnown && isUnreported) yield `unreported: over the window; ${figures}`;
    if (isKnown && saysOverflow && prompt * UNKNOWN_SCALE < window)
      yield `overflow: reported for nothing; ${figures}`;
    // The request behind a refusal obeys the limit that it named, even if the host has changed its window since.
    const isBehindRefusal = record.given.findLast(({ role }) => role === "assistant")?.stopReason === "error";
    if (lost > 0 && !isBehindRefusal && (isKnown || whole * UNKNOWN_SCALE < 0.5 * window))
      yield `lost: ${lost} messages with room left, whole ${whole}; ${figures}`;
  }

  /** Most that the estimate may be off, as a share. */
  #allowed(record) {
    const { shown, last } = this.#reports.get(record.model) ?? NO_REPORTS;
    const blur = (UNLEARNED_ERROR * LEARNED_TOKENS) / (LEARNED_TOKENS + shown);
    const { added, gone } = this.#changedTokens(record, last);
    return MOST_ERROR + (blur * (added + gone)) / record.prompt;
  }

  /** Tokens of what is new in this request since another, and of what is gone. */
  #changedTokens({ sent, model }, last) {
    const unchanged = commonRun(sent, last);
    const tokens = (messages) =>
      messages.slice(unchanged).reduce((sum, of) => sum + this.#loop.provider.tokensOf(of, model), 0);
    return { added: tokens(sent), gone: tokens(last) };
  }

  #note(record) {
    const { model, sent } = record;
    if (this.#lastModel !== model) this.#reports.set(model, NO_REPORTS);
    this.#lastModel = model;
    if (!isTold(record)) return;
    const { count, shown, last } = this.#reports.get(model) ?? NO_REPORTS;
    const { added, gone } = this.#changedTokens(record, last);
    const seen = count > 0 ? Math.abs(added - gone) : 0;
    this.#reports.set(model, { count: count + 1, shown: shown + seen, last: sent });
  }
}

const NO_REPORTS = Object.freeze({ count: 0, shown: 0, last: [] });

/** True if a list has a message in common with another that is no system message: else it may be of any conversation. */
function goesOn(list, last) {
  return list.some((message) => message.role !== "system" && last.some((known) => isSame(known, message)));
}

/** True if the hook says that no smaller request is left. */
function isLeast({ events, estimate }) {
  const overflow = events.find(({ type }) => type === "contextOverflow");
  return overflow !== undefined && overflow.floorTokens >= LEAST_SHARE * estimate;
}

/** Tokens by which the size of a message that was sent may be off: none, unless it was cut to fit. */
function errorOf(message) {
  const text = JSON.stringify(message);
  return Object.values(contract.markers).some(({ cut }) => text.includes(cut.at(-1))) ? CUT_ERROR_TOKENS : 0;
}

function isSame(one, other) {
  return one.role === other.role && one.timestamp === other.timestamp;
}
