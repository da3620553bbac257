// Recordings as no host compacted them, and what a provider would count of them.

import { recordingOf } from "../__test__/support/recordings.mjs";
import { countedIn, estimatesOf } from "../lib/cli/report/play.mjs";

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
