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
  const calls = recording.calls.map((call) => ({
    stretch: call.stretch,
    model: recording.message(call.at).model,
    reported: recording.reported(call),
    counted: recording.numbersBefore(call).reduce((sum, number) => sum + recording.tokens(number), 0),
  }));
  const told = calls.filter(({ reported }) => reported !== undefined);
  const scale = quantile(scalesBetween(told), 0.5) ?? 1;
  const beside = ({ counted, reported }) => reported - scale * counted;
  const isOdd = (call) => -beside(call) > Math.max(DISAGREES_TOKENS, DISAGREES_SHARE * call.reported);
  const usual = quantile(told.filter((call) => !isOdd(call)).map(beside), 0.5) ?? overheadTokens;
  let last = usual;
  return calls.map((call) => {
    if (call.reported !== undefined) last = isOdd(call) ? usual : beside(call);
    const base = last;
    const lineAt = (tokens) => Math.round(Math.max(0, base + scale * tokens));
    const tokensBefore = call.reported ?? lineAt(call.counted);
    const tokensOf = (tokens) => (tokens === call.counted ? tokensBefore : lineAt(tokens));
    return { tokensBefore, held: Math.round(scale * call.counted), isOdd: isOdd(call), scale, tokensOf };
  });
}

/** Provider tokens per cl100k token, from each report of a model to the next in the same stretch. */
function scalesBetween(told) {
  return told.flatMap((call, i) => {
    const last = told[i - 1];
    if (last?.stretch !== call.stretch || last.model !== call.model) return [];
    const tokens = call.counted - last.counted;
    const scale = (call.reported - last.reported) / tokens;
    return tokens >= MIN_STEP_TOKENS && scale >= SCALES[0] && scale <= SCALES[1] ? [scale] : [];
  });
}
