// Compaction by the host, to measure ours against: pi's own, and the compactions that a recording tells of.

import { contextTokens, cutPoint } from "../../__test__/support/live/compaction.mjs";
import counting from "../../lib/tools/count.js";
import { commonestNames, SCALE, textsOf } from "./versions.mjs";

/** pi compacts above its window less this many tokens, and keeps the newest 20,000 (`DEFAULT_COMPACTION_SETTINGS`). */
const RESERVE_TOKENS = 16_384;
const KEEP_RECENT_TOKENS = 20_000;
/** UTF-16 code units of each tool result that pi shows the summary call. */
const TOOL_RESULT_CHARS = 2000;
/** cl100k tokens of a summary: the two that before-compaction.jsonl recorded have 924 and 1,118. */
const SUMMARY_TOKENS = 1000;
/** An answer costs five times the input, as in `lib/ledger.js`. */
const OUTPUT_PRICE = 5;
const PER_MILLION = 1e-6;

/**
 * Over the window less 16,384 tokens all but the newest 20,000 become a summary. Before each call, which is as early as
 * can be: pi looks at the end of a turn. The call that summarises is paid (`dollarsApart`), and what it shows is taken to
 * be the names that were said most often, which is more than a summary has.
 */
export function piCompaction({ contextWindow, prices }) {
  let [first, summary, start, answeredFrom, spent] = [undefined, undefined, 0, 0, 0];
  const policy = async (messages) => {
    if (messages[0] !== first) [first, summary, start, answeredFrom] = [messages[0], undefined, 0, 0];
    // Right after a compaction no answer tells the size.
    const isAnswered = messages.findLastIndex(({ usage }) => usage !== undefined) >= answeredFrom;
    if (isAnswered && contextTokens(messages) > contextWindow - RESERVE_TOKENS) {
      const cut = start + cutPoint(messages.slice(start), KEEP_RECENT_TOKENS);
      if (cut > start) {
        const old = [...(summary === undefined ? [] : [summary]), ...messages.slice(start, cut)];
        spent += summaryDollars(SCALE * counting.countTokens(serialized(old)), prices.input, prices);
        summary = summaryOf(old, messages[cut].timestamp);
        [start, answeredFrom] = [cut, messages.length];
      }
    }
    return summary === undefined ? messages : [summary, ...messages.slice(start)];
  };
  policy.dollarsApart = () => spent;
  return policy;
}

/**
 * The recorded host's own compactions, `{ at, opening, isCached }` each: from message `at` on, `opening` stands for all
 * before it. Claude Code asks for the summary behind the conversation, which is read from the cache; pi asks anew.
 */
export function recordedCompactions({ prices, compactions }) {
  let [done, spent] = [0, 0];
  const before = (messages, index) => {
    const { at, opening } = compactions[index - 1] ?? { at: 0, opening: [] };
    return [...opening, ...messages.slice(at)];
  };
  const policy = async (messages) => {
    for (; done < compactions.length && compactions[done].at <= messages.length; done += 1) {
      const { at, isCached } = compactions[done];
      const old = before(messages.slice(0, at), done);
      spent += isCached
        ? summaryDollars(SCALE * counting.countTokens(old), prices.read, prices)
        : summaryDollars(SCALE * counting.countTokens(serialized(old)), prices.input, prices);
    }
    return before(messages, done);
  };
  policy.dollarsApart = () => spent;
  return policy;
}

function summaryDollars(tokens, price, { input }) {
  return PER_MILLION * (tokens * price + SCALE * SUMMARY_TOKENS * OUTPUT_PRICE * input);
}

/** A conversation as pi hands it to the call that summarises. */
function serialized(messages) {
  const textOf = ({ role, content }) => {
    const text = textsOf(content).join("\n");
    return role === "toolResult" ? text.slice(0, TOOL_RESULT_CHARS) : text;
  };
  return messages.map(textOf).join("\n\n");
}

function summaryOf(messages, timestamp) {
  const texts = messages.flatMap(({ content }) => textsOf(content));
  const summary = commonestNames(texts, SUMMARY_TOKENS, counting.countTokens);
  return { role: "compactionSummary", summary, content: [{ type: "text", text: summary }], timestamp };
}
