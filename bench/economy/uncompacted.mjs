// A recording as one transcript that no host ever compacted: what a policy does where nobody else cuts, and requests grow
// far over the window without it.

import { recordingOf } from "../recordings.mjs";

/** `{ messages, compactions }`: its messages in order, without the host's summaries and without what the provider reported. */
export function uncompacted(recording) {
  const numbers = Array.from({ length: recording.length }, (_, number) => number);
  const said = numbers.filter((number) => recording.message(number).role !== "compactionSummary");
  const unreported = (number) => ({ ...recording.message(number), usage: undefined });
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
