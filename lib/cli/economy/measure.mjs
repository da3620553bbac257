// What a policy costs and what it keeps, over one recorded session: dollars under both cache models, and how much of
// what the assistant went on to use was still in front of it.

import { Recording } from "../recording.mjs";
import { BreakpointCache, dollars, PRICES, PrefixCache } from "./caches.mjs";
import { estimatesOf, promptTokens } from "./estimates.mjs";
import { Versions } from "./versions.mjs";
import { Origins, Visible } from "./visible.mjs";

/** Kinds of identifiers that recall is told for; `recall` itself is over all but the last. */
const KINDS = ["name", "path", "word", "cjk"];
const RECALLED = ["name", "path", "word"];

/** What an agent does after a blind edit: it reads again, in one more call of this many tokens. */
const REREAD = { writtenTokens: 2000, outputTokens: 150, outputPrice: 5 };

const PER_MILLION = 1e-6;

/**
 * Plays a recording (or a list of messages) through `policy` (`(messages) => Promise<messages>`, called before each call
 * with all that stands before it) and adds everything up. The loop is closed: what a policy reads as usage is what its
 * own requests cost, not what was recorded. Sizes are the provider's tokens, by `estimates` (`estimatesOf`, if left
 * out). `onCall` is told of each call: its number, tokens before and after, dollars, edits, and
 * the lines that blind ones had lost.
 */
export async function measure(
  messages,
  policy,
  { contextWindow, prices = PRICES, scale, estimates: given, onCall },
) {
  const recording = Recording.of(messages);
  const estimates = given ?? (await estimatesOf(recording, { contextWindow, scale }));
  const versions = new Versions();
  let origins = new Origins(versions);
  const caches = { prefix: new PrefixCache(), breakpoint: new BreakpointCache() };
  const ttlMs = 1000 * prices.ttlSeconds;
  const identifiers = new Visible((version) => version.identifiers);
  const realIdentifiers = new Visible((version) => version.identifiersInLines(origins.bareLines));
  const lines = new Visible((version) => version.lines);
  const played = new Map();
  const playedAs = (number) => {
    if (!played.has(number)) played.set(number, withoutUsage(recording.message(number)));
    return played.get(number);
  };
  const score = emptyScore();
  let stretch = 0;
  for (const [i, call] of recording.calls.entries()) {
    // What a recorded compaction cut off is out of every policy's reach: it is not held against any.
    if (call.stretch !== stretch) origins = new Origins(versions);
    stretch = call.stretch;
    const numbers = recording.numbersBefore(call);
    const before = numbers.map(playedAs);
    const request = (await policy(before)).map((message) => versions.of(message));
    const { estimate, tokensBefore } = estimates[i];
    const tokens = promptTokens(estimate, request);
    const answer = recording.message(call.at);
    const timeMs = answer.timestamp;
    const cost = {};
    for (const [model, cache] of Object.entries(caches)) {
      const read = cache.read(request, timeMs, ttlMs, estimate);
      cost[model] = dollars(tokens, read, prices);
      score.dollars[model] += cost[model];
      score.readTokens[model] += read;
      if (model === "prefix") played.set(call.at, withUsage(answer, tokens, read, prices));
    }
    score.calls += 1;
    score.tokens += tokens;
    score.peak = Math.max(score.peak, tokens);
    score.overflows += tokens > contextWindow ? 1 : 0;
    origins.addUpTo(before, before.length);
    for (const visible of [identifiers, realIdentifiers, lines]) visible.show(request);
    const said = versions.of(answer);
    origins.scoreUses(said, identifiers, realIdentifiers, score.kinds);
    const { edits, lost } = origins.editsOf(answer, lines);
    const blind = lost.length;
    score.edits += edits;
    score.blindEdits += blind;
    score.rereadDollars += blind * rereadDollars(tokens, prices);
    onCall?.({ call: call.number, numbers, tokensBefore, tokens, dollars: cost, edits, lost });
    score.userText +=
      origins.userTokens === 0 ? 1 : sum(request, (version) => version.userTokens) / origins.userTokens;
  }
  return score;
}

function withoutUsage(message) {
  return message.usage === undefined ? message : { ...message, usage: undefined };
}

/** `message` as if the provider had counted and charged the request that was really made. */
function withUsage(message, tokens, read, prices) {
  const [cacheRead, cacheWrite] = [Math.round(read), Math.round(tokens - read)];
  const cost = {
    input: 0,
    cacheRead: PER_MILLION * cacheRead * prices.read,
    cacheWrite: PER_MILLION * cacheWrite * prices.write,
  };
  const output = message.usage?.output ?? 0;
  return { ...message, usage: { input: 0, output, cacheRead, cacheWrite, cost } };
}

function rereadDollars(tokens, { input, read, write }) {
  const { writtenTokens, outputTokens, outputPrice } = REREAD;
  return PER_MILLION * (tokens * read + writtenTokens * write + outputTokens * outputPrice * input);
}

export function emptyScore() {
  const uses = () => ({ used: 0, visible: 0, inRealLines: 0, toolUsed: 0, toolVisible: 0 });
  return {
    calls: 0,
    tokens: 0,
    peak: 0,
    overflows: 0,
    dollars: { prefix: 0, breakpoint: 0 },
    readTokens: { prefix: 0, breakpoint: 0 },
    rereadDollars: 0,
    edits: 0,
    blindEdits: 0,
    kinds: Object.fromEntries(KINDS.map((kind) => [kind, uses()])),
    userText: 0,
  };
}

/** The scores of several sessions as one. */
export function addScores(a, b) {
  return { ...added(a, b), peak: Math.max(a.peak, b.peak) };
}

function added(a, b) {
  if (typeof a === "number") return a + b;
  return Object.fromEntries(Object.keys(a).map((key) => [key, added(a[key], b[key])]));
}

/** Shares as the tables show them; `dollars` with what reading again would cost, under the dearer of both caches. */
export function ratesOf(score) {
  const all = RECALLED.map((kind) => score.kinds[kind]).reduce(added);
  return {
    dollarsWithRereads: Math.max(score.dollars.prefix, score.dollars.breakpoint) + score.rereadDollars,
    recall: share(all.visible, all.used),
    lineRecall: share(all.inRealLines, all.used),
    toolRecall: share(all.toolVisible, all.toolUsed),
    kinds: Object.fromEntries(KINDS.map((kind) => [kind, ratesOfKind(score.kinds[kind])])),
    blindEdits: score.edits > 0 ? score.blindEdits / score.edits : 0,
    edits: score.edits,
    userText: share(score.userText, score.calls),
    hitRate: share(score.readTokens.prefix, score.tokens),
  };
}

function ratesOfKind({ used, visible, toolUsed, toolVisible }) {
  return { recall: share(visible, used), toolRecall: share(toolVisible, toolUsed) };
}

function share(part, all) {
  return all > 0 ? part / all : 1;
}

function sum(values, of) {
  return values.reduce((total, value) => total + of(value), 0);
}
