// A recording as one transcript that no host ever compacted: what a policy does where nobody else cuts, and requests grow
// far over the window without it.

/** Its messages in order, without the host's summaries and without what the provider reported of them. */
export function uncompacted(recording) {
  const messages = Array.from({ length: recording.length }, (_, number) => recording.message(number));
  return messages
    .filter(({ role }) => role !== "compactionSummary")
    .map((message) => ({ ...message, usage: undefined }));
}
