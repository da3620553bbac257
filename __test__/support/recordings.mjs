// Recordings of lists that no host recorded or compacted, and what a provider would count of them.

import { Recording } from "../../lib/cli/recording/recording.mjs";
import { countedIn, estimatesOf } from "../../lib/cli/report/play.mjs";

/** `messages` as a recording; one that is a recording already stays what it is. */
export function recordingOf(messages) {
  if (messages instanceof Recording) return messages;
  return new Recording(
    "messages",
    messages.map((message) => ({ message })),
  );
}

/** As `estimatesOf`; with `scale` given, of a provider that counts so many tokens for one of cl100k_base and nothing else. */
export function estimatesBy(recording, { scale }) {
  if (scale === undefined) return estimatesOf(recording);
  return recording.calls.map((call) => {
    const counted = countedIn(recording.messagesBefore(call));
    return { tokensBefore: Math.round(scale * counted), tokensOf: (tokens) => Math.round(scale * tokens) };
  });
}

/**
 * A recording as if no host had compacted it: `{ messages, compactions }`, its messages in order, without the host's summaries
 * and without reported usage.
 */
export function uncompacted(recording) {
  const said = Array.from(recording.all.keys()).filter(
    (number) => recording.all[number].role !== "compactionSummary",
  );
  const unreported = (number) => ({ ...recording.all[number], usage: undefined });
  const isCached = recording.format.startsWith("Claude Code");
  const compactions = recording.stretches
    .filter(({ cause }) => cause === "compaction")
    .map(({ opening, from }) => ({
      at: said.findIndex((number) => number >= from),
      opening: opening.map(unreported),
      isCached,
    }));
  return { messages: recordingOf(said.map(unreported)), compactions };
}
