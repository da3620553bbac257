// Measures what a policy costs and what it keeps, over one recorded session: dollars under both cache models, and how much of
// what the assistant went on to use was still in front of it.

import { PRICES } from "../../__test__/support/live/provider.mjs";
import { billOf, emptyBill, hitRate } from "../../lib/cli/report/play.mjs";
import { Versions } from "./versions.mjs";
import { Origins, Visible } from "./visible.mjs";

/** Kinds of identifiers that recall is told for; `recall` itself is over all but the last. */
const KINDS = ["name", "path", "word", "cjk"];
const RECALLED = ["name", "path", "word"];

/** What an agent does after a blind edit: it reads again, in one more call of this many tokens. */
const REREAD = { writtenTokens: 2000, outputTokens: 150, outputPrice: 5 };

const PER_MILLION = 1e-6;

/**
 * The bill of `policy` over a recording, with the options of `billOf`, and beside it what the
 * model still saw of what it needed. `onCall` is told the lines, too, that blind edits had lost.
 */
export async function measure(recording, policy, { prices = PRICES, onCall, ...setting }) {
  const versions = new Versions();
  let origins = new Origins(versions);
  const identifiers = new Visible((version) => version.identifiers);
  const realIdentifiers = new Visible((version) => version.identifiersInLines(origins.bareLines));
  const lines = new Visible((version) => version.lines);
  const score = emptyScore();
  let stretch = 0;
  const watch = (call) => {
    const { before, request, tokens } = call;
    // Nobody can show again what a recorded compaction cut off: it is not held against any policy.
    if (call.stretch !== stretch) origins = new Origins(versions);
    stretch = call.stretch;
    origins.addUpTo(before, before.length);
    for (const visible of [identifiers, realIdentifiers, lines]) visible.show(request);
    const answer = recording.message(call.at);
    origins.scoreUses(versions.of(answer), identifiers, realIdentifiers, score.kinds);
    const { edits, lost } = origins.editsOf(answer, lines);
    score.edits += edits;
    score.blindEdits += lost.length;
    score.rereadDollars += lost.length * rereadDollars(tokens, prices);
    score.userText +=
      origins.userTokens === 0 ? 1 : sum(request, (version) => version.userTokens) / origins.userTokens;
    onCall?.({ ...call, edits, lost });
  };
  const bill = await billOf(recording, policy, { ...setting, prices, versions, onCall: watch });
  // Calls that the policy makes beside the recorded ones cost the same under either cache.
  const apart = policy.dollarsApart?.() ?? 0;
  for (const model of Object.keys(bill.dollars)) bill.dollars[model] += apart;
  return { ...score, ...bill };
}

function rereadDollars(tokens, { input, read, write }) {
  const { writtenTokens, outputTokens, outputPrice } = REREAD;
  return PER_MILLION * (tokens * read + writtenTokens * write + outputTokens * outputPrice * input);
}

export function emptyScore() {
  const uses = () => ({ used: 0, visible: 0, inRealLines: 0, toolUsed: 0, toolVisible: 0 });
  return {
    ...emptyBill(),
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
    hitRate: hitRate(score),
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
