// A recording as one transcript that no host ever compacted: what a policy does where nobody else cuts, and requests grow
// far over the window without it.

import { Recording } from "../../lib/cli/recording.mjs";

/** Its messages in order, without the host's summaries and without what the provider reported of them. */
export function uncompacted(recording) {
  const messages = Array.from({ length: recording.length }, (_, number) => recording.message(number));
  const said = messages.filter(({ role }) => role !== "compactionSummary");
  return Recording.of(said.map((message) => ({ ...message, usage: undefined })));
}
