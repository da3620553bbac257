// Estimates the tokens of any request at a recorded call as its provider would have counted them: by a line through the size that
// was reported for that call.

import { quantile } from "../numbers.mjs";

/** Smallest number of cl100k tokens between two calls that shows how the provider counts. */
const MIN_STEP_TOKENS = 200;
/** Range of provider tokens per cl100k token. A value outside of it has another cause than counting. */
const SCALES = [0.5, 3];
/** A report that is smaller than its messages by more than this share, and this many tokens, is of another list. */
const DISAGREES_SHARE = 0.1;
const DISAGREES_TOKENS = 2_000;

/**
 * One `{ tokensBefore, held, isOdd, scale, tokensOf }` per call of a recording. `tokensBefore` is what the file reports for the
 * call, `held` what its messages make, and `isOdd` says that they make more: the host left something out of its request.
 * `tokensOf(counted)` are the tokens of another request at this call, of so many cl100k tokens. Without any usage the count is
 * plain, beside `overheadTokens`.
 */
export function estimatesOf(recording, { overheadTokens = 0 } = {}) {
  const calls = sizesOf(recording);
  const scale = scaleOf(calls);
  const isOdd = ({ counted, reported }) =>
    scale * counted - reported > Math.max(DISAGREES_TOKENS, DISAGREES_SHARE * reported);
  const beside = ({ counted, reported }) => reported - scale * counted;
  const sound = calls.filter((call) => call.reported !== undefined && !isOdd(call));
  const usual = quantile(sound.map(beside), 0.5) ?? overheadTokens;
  let base = usual;
  return calls.map((call) => {
    const { counted, reported } = call;
    const odd = reported !== undefined && isOdd(call);
    if (reported !== undefined) base = odd ? usual : beside(call);
    const line = lineOf(base, scale);
    const tokensBefore = reported ?? line(counted);
    const tokensOf = (tokens) => (tokens === counted ? tokensBefore : line(tokens));
    return { tokensBefore, held: Math.round(scale * counted), isOdd: odd, scale, tokensOf };
  });
}

/** Whole tokens, as a provider counts. */
const lineOf = (base, scale) => (tokens) => Math.round(Math.max(0, base + scale * tokens));

/** The cl100k tokens before each call, and what was reported for it. */
function sizesOf(recording) {
  const sums = [0];
  for (let number = 0; number < recording.length; number += 1)
    sums.push(sums[number] + recording.tokens(number));
  return recording.calls.map((call) => {
    const { opening, from } = recording.stretches[call.stretch];
    const opened = opening.reduce((sum, number) => sum + recording.tokens(number), 0);
    const { model } = recording.message(call.at);
    const counted = opened + sums[call.at] - sums[from];
    return { stretch: call.stretch, model, counted, reported: recording.reported(call) };
  });
}

/** Provider tokens per cl100k token: the median over the steps from one report to the next. */
function scaleOf(calls) {
  const told = calls.filter(({ reported }) => reported !== undefined);
  const steps = told.flatMap((call, i) => {
    const last = told[i - 1];
    if (last?.stretch !== call.stretch || last.model !== call.model) return [];
    const tokens = call.counted - last.counted;
    const scale = (call.reported - last.reported) / tokens;
    return tokens >= MIN_STEP_TOKENS && scale >= SCALES[0] && scale <= SCALES[1] ? [scale] : [];
  });
  const whole = told.map(({ counted, reported }) => reported / counted).filter((scale) => scale <= SCALES[1]);
  return quantile(steps, 0.5) ?? Math.max(1, Math.min(...whole, whole.length === 0 ? 1 : Infinity));
}
