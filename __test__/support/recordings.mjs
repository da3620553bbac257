// Recordings of lists that no host recorded.

import { Recording } from "../../lib/cli/recording/recording.mjs";

/** `messages` as a recording; one that is a recording already stays what it is. */
export function recordingOf(messages) {
  if (messages instanceof Recording) return messages;
  return new Recording(
    "messages",
    messages.map((message) => ({ message })),
  );
}
