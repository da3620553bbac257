// Measures what a policy costs and what it keeps, over one recorded session: dollars under both cache models, and how much of
// what the assistant went on to use was still in front of it.

import { PRICES } from "../../__test__/support/live/provider.mjs";
import { billOf } from "../../lib/cli/report/play.mjs";
import { spansOf } from "./spans.mjs";
import { Versions } from "./versions.mjs";
import { Origins, Visible } from "./visible.mjs";

/** What an agent does after a blind edit: it reads again, in one more call of this many tokens. */
const REREAD = { writtenTokens: 2000, outputTokens: 150, outputPrice: 5 };

const PER_MILLION = 1e-6;

/** The bill of `policy` over a recording, with the options of `billOf`, and beside it what the model still saw of what it needed. */
export async function measure(recording, policy, { prices = PRICES, ...setting }) {
  const answers = recording.all.filter(({ role }) => role === "assistant");
  const versions = new Versions(new Set(answers.flatMap(spansOf)));
  let origins = new Origins(versions);
  const kinds = ["identifiers", "lines", "spans"];
  const inView = Object.fromEntries(kinds.map((kind) => [kind, new Visible(kind)]));
  const score = emptyScore();
  let stretch = 0;
  const onCall = (call) => {
    const { before, tokens } = call;
    const request = call.request.map((message) => versions.of(message));
    // Nobody can show again what a recorded compaction cut off: it is not held against any policy.
    if (call.stretch !== stretch) origins = new Origins(versions);
    stretch = call.stretch;
    origins.addUpTo(before, before.length);
    for (const visible of Object.values(inView)) visible.show(request);
    const answer = recording.all[call.at];
    origins.scoreUses(answer, inView, score);
    const { edits, lost } = origins.editsOf(answer, inView);
    score.edits += edits;
    score.blindEdits += lost;
    score.rereadDollars += lost * rereadDollars(tokens, prices);
    score.userText += origins.shareIn(request, "userTokens");
    score.acts += origins.shareIn(request, "calls");
  };
  const bill = await billOf(recording, policy, { ...setting, prices, onCall });
  // Calls that the policy makes beside the recorded ones cost the same under either cache.
  const apart = policy.dollarsApart?.() ?? 0;
  for (const model of Object.keys(bill.dollars)) bill.dollars[model] += apart;
  return { ...score, ...bill };
}

function rereadDollars(tokens, { input, read, write }) {
  const { writtenTokens, outputTokens, outputPrice } = REREAD;
  return PER_MILLION * (tokens * read + writtenTokens * write + outputTokens * outputPrice * input);
}

/** Sums of what calls needed (names, those that only tools brought, copied spans) and of what was in view of it. */
const SUMS = ["rereadDollars", "edits", "blindEdits", "userText", "acts"];
const NEEDS = ["used", "visible", "toolUsed", "toolVisible", "copied", "copiedVisible"];

export const emptyScore = () => ({
  ...{ calls: 0, tokens: 0, peak: 0, overflows: 0 },
  dollars: { prefix: 0, breakpoint: 0 },
  readTokens: { prefix: 0, breakpoint: 0 },
  ...Object.fromEntries([...SUMS, ...NEEDS].map((name) => [name, 0])),
});

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
  return {
    dollarsWithRereads: Math.max(score.dollars.prefix, score.dollars.breakpoint) + score.rereadDollars,
    recall: share(score.visible, score.used),
    toolRecall: share(score.toolVisible, score.toolUsed),
    copied: share(score.copiedVisible, score.copied),
    blindEdits: score.edits > 0 ? score.blindEdits / score.edits : 0,
    edits: score.edits,
    userText: share(score.userText, score.calls),
    acts: share(score.acts, score.calls),
    hitRate: share(score.readTokens.prefix, score.tokens),
  };
}

const share = (part, all) => (all > 0 ? part / all : 1);
