// Recordings of lists that no host recorded, and what a provider would count of them.

import { Recording } from "../lib/cli/recording.mjs";
import { estimatesOf } from "../lib/cli/report/estimates.mjs";

/** `messages` as a recording; one that is a recording already stays what it is. */
export function recordingOf(messages) {
  if (messages instanceof Recording) return messages;
  return new Recording({
    messages,
    format: "messages",
    problems: [],
    stretches: [{ cause: "start", opening: [], from: 0, to: messages.length }],
    answers: messages.flatMap(({ role }, number) => (role === "assistant" ? [number] : [])),
    unplayed: { abandoned: 0, subAgents: 0 },
  });
}

/** As `estimatesOf`; with `scale` given, of a provider that counts so many tokens for one of cl100k_base and nothing else. */
export async function estimatesBy(recording, { contextWindow, scale }) {
  if (scale === undefined) return estimatesOf(recording, { contextWindow });
  return recording.calls.map((call) => {
    const counted = recording.numbersBefore(call).reduce((sum, number) => sum + recording.tokens(number), 0);
    return { tokensBefore: Math.round(scale * counted), estimate: { base: 0, scale } };
  });
}
