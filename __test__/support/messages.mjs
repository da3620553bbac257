// Messages of pi's, made in few words: what tests of single cases are written in.

const BY = { api: "anthropic-messages", provider: "anthropic", model: "claude-opus-4-5" };

export const text = (value, more) => ({ type: "text", text: value, ...more });
export const thinking = (value = "hm", thinkingSignature = "sig") => ({
  type: "thinking",
  thinking: value,
  thinkingSignature,
});
export const call = (id, more) => ({ type: "toolCall", id, name: "read", arguments: {}, ...more });
export const image = { type: "image", data: "AAAA", mimeType: "image/png" };

export const user = (content = "go", more = {}) => ({ role: "user", content, timestamp: 1, ...more });
/** What it says, as blocks, as words, or as the ids of calls behind a `:`, as in `":a b"`. */
export const answer = (content, more = {}) => ({
  role: "assistant",
  content: typeof content === "string" ? blocksOf(content) : content,
  ...BY,
  stopReason: "stop",
  timestamp: 1,
  ...more,
});
/** A result of these words, or blocks. */
export const result = (toolCallId, content = "ok", more = {}) => ({
  role: "toolResult",
  toolCallId,
  toolName: "read",
  content: typeof content === "string" ? [text(content)] : content,
  isError: false,
  timestamp: 1,
  ...more,
});
export const custom = { role: "custom", customType: "note", content: "a note", display: false, timestamp: 1 };
export const bash = { role: "bashExecution", command: "ls", output: "x", exitCode: 0, timestamp: 1 };
export const branchSummary = { role: "branchSummary", summary: "earlier", fromId: "q", timestamp: 1 };
const compaction = { role: "compactionSummary", summary: "earlier", tokensBefore: 1, timestamp: 1 };

function blocksOf(words) {
  if (!words.startsWith(":")) return [text(words)];
  const ids = words.slice(1).split(" ");
  return ids.map((id) => call(id, { arguments: { id } }));
}

const ALONE = {
  x: custom,
  b: bash,
  s: branchSummary,
  k: compaction,
  f: answer([], { stopReason: "aborted" }),
};

/**
 * A list by words: `u`ser, `a`nswer, `:ab` an answer with calls a and b, `=a` a result, and the strangers: `x` of an app, `b` a
 * shell command, `s` a branch's summary, `k` a compaction's, `f` a failed answer.
 */
export function spelled(words) {
  return words.split(" ").map((word) => {
    const [kind, ...ids] = word;
    if (kind === ":") return answer(`:${ids.join(" ")}`);
    if (kind === "=") return result(ids.join(""));
    return { ...(ALONE[kind] ?? (kind === "u" ? user() : answer("said"))) };
  });
}
