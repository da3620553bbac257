// The panel of `/strata`: what the last request held by kind and tool, what was edited and why, and what the session has
// cost. Numbers and names only.

import strata from "../index.js";

/** The row that a message's tokens count in, by its role. */
const KINDS = {
  system: "system prompt",
  user: "user",
  bashExecution: "shell commands",
  compactionSummary: "summaries",
  branchSummary: "summaries",
};
const BLOCK_KINDS = { text: "answers", thinking: "thinking", toolCall: "tool calls" };
/** Tokens that the provider counted beyond the messages: its own prompt, the tools' definitions, its framing. */
const REST = "prompt and tools";

/**
 * The panel's text for the last call, `{ messages, sent }`, under these options of the hook. `session` says the rest: its
 * `calls`, the `note` on prices, the `dollars` pi has counted, when it `warmed` the cache, and what `problems` there are.
 */
export async function panelText({ messages, sent }, options, { calls, note, dollars, warmed, problems }) {
  const contextWindow = options.contextWindow();
  const explained = await strata.explain(messages, options);
  const { tokensBefore, tokensAfter, scale, schedule, edits } = explained;
  const kinds = await tokensByKind(sent, { scale, total: tokensAfter });
  const share = Math.round((100 * tokensAfter) / contextWindow);
  return [
    `The last request held about ${number(tokensAfter)} tokens, ${share} % of the window of ${number(contextWindow)}; unedited it`,
    `would have held ${number(tokensBefore)}. All figures are the provider's tokens, estimated.`,
    "",
    ...table(["in the request", "tokens", "messages"], kinds),
    "",
    ...(edits.length === 0
      ? ["Nothing is edited."]
      : table(
          ["edited, and why", "tokens saved", "messages"],
          reasons(messages, edits, tokensBefore - tokensAfter),
        )),
    "",
    `Schedule: ${schedule.mode}; ${schedule.why}.`,
    note,
    ...(warmed.length === 0
      ? []
      : [`pi kept the cache warm ${times(warmed.length)}, last at ${clock(warmed.at(-1))}.`]),
    `pi has counted $${dollars.toFixed(3)} for this session. Not sent since it started: ${number(calls.tokensSaved)} tokens in ${calls.count} calls.`,
    ...problems.map((problem) => `Settings: ${problem}; the default is used.`),
  ].join("\n");
}

function times(count) {
  return count === 1 ? "once" : `${count} times`;
}

function clock(ms) {
  return new Date(ms).toTimeString().slice(0, 5);
}

/** Rows of `[kind, tokens, messages]`, the largest first, that add up to `total`. */
async function tokensByKind(messages, { scale, total }) {
  const parts = new Map();
  for (const [kind, part] of messages.flatMap(partsOf)) {
    if (!parts.has(kind)) parts.set(kind, []);
    parts.get(kind).push(part);
  }
  const rows = await Promise.all(
    Array.from(parts, async ([kind, list]) => [
      kind,
      (await strata.countTokensAsync(list)) * scale,
      list.length,
    ]),
  );
  const counted = rows.reduce((sum, [, tokens]) => sum + tokens, 0);
  if (total > counted) rows.push([REST, total - counted, ""]);
  else for (const row of rows) row[1] *= total / counted;
  return rows.sort((a, b) => b[1] - a[1]);
}

/** `[kind, message]` of each part of a message that is counted on its own. */
function partsOf(message) {
  const { role, content, toolName } = message ?? {};
  if (role === "toolResult") return [[`results of ${toolName}`, message]];
  if (role !== "assistant" || !Array.isArray(content)) return [[KINDS[role] ?? "other", message]];
  const kinds = new Map();
  for (const block of content) {
    const kind = BLOCK_KINDS[block?.type] ?? "other";
    kinds.set(kind, [...(kinds.get(kind) ?? []), block]);
  }
  return Array.from(kinds, ([kind, blocks]) => [kind, { ...message, content: blocks }]);
}

export const ACTIONS = {
  keepLines: "cut by line",
  summarize: "shortened",
  omitImages: "images left out",
  stripThinking: "thinking removed",
  drop: "left out",
  truncate: "cut",
};

/** Rows of `[what and why, tokens saved, messages]`, the largest first, that add up to `total`. */
function reasons(messages, edits, total) {
  const counted = edits.reduce((sum, { tokensSaved }) => sum + tokensSaved, 0);
  // The edits are told in the counter's tokens, the total in the provider's.
  const scale = counted > 0 ? total / counted : 1;
  const rows = new Map();
  for (const { index, action, reason, tokensSaved } of edits) {
    const tool = messages[index]?.toolName;
    const name = `${ACTIONS[action]}${tool === undefined ? "" : ` ${tool}`}: ${reason}`;
    const [, tokens, count] = rows.get(name) ?? [name, 0, 0];
    rows.set(name, [name, tokens + tokensSaved * scale, count + 1]);
  }
  return Array.from(rows.values()).sort((a, b) => b[1] - a[1]);
}

export function table(header, rows) {
  const lines = [header, ...rows.map(([name, tokens, count]) => [name, number(tokens), String(count)])];
  const widths = header.map((_, column) => Math.max(...lines.map((cells) => cells[column].length)));
  return lines.map(([name, ...cells]) =>
    [name.padEnd(widths[0]), ...cells.map((cell, i) => cell.padStart(widths[i + 1]))].join("  ").trimEnd(),
  );
}

function number(tokens) {
  return Math.round(tokens).toLocaleString("en-US");
}
