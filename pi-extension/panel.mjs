// The texts of `/strata` and `/strata status`: what a request held, what was edited and why, what the session has cost, and
// which options are in force. Numbers and names only, never text of the conversation.

import strata from "../index.js";
import { times, whole } from "../lib/cli/numbers.mjs";
import contract from "../lib/contract.js";
import { table } from "./screen.mjs";
import { defaultOf, OWN_SETTINGS, shown } from "./settings.mjs";

/** The row that a message's tokens count in, by its role. */
const KINDS = {
  system: "system prompt",
  user: "user",
  bashExecution: "shell commands",
  compactionSummary: "summaries",
  branchSummary: "summaries",
};
const BLOCK_KINDS = { text: "answers", thinking: "thinking", toolCall: "tool calls" };
/** Name of the tokens that the provider counts beside the messages: its prompt, the tools and its framing. */
const REST = "prompt and tools";

export const ACTIONS = {
  keepLines: "some lines kept",
  summarize: "shortened",
  omitImages: "images left out",
  dropCalls: "second call left out",
  stripThinking: "thinking removed",
  drop: "left out",
  truncate: "cut to its ends",
  moveAfter: "moved behind the results",
};

/** Causes of cache misses in words. */
const CAUSES = {
  hook: "for an edit",
  expired: "after a pause",
  model: "for another model",
  host: "changed by pi",
  provider: "unexplained",
};
/** Smaller savings are not mentioned. */
const LEAST_DOLLARS = 0.001;
/** Options without a value to show. */
const UNSHOWN = ["onEvent"];
/** Words for options without a value. */
const WITHOUT_VALUE = {
  overheadTokens: "learned",
  cache: "learned",
  keep: "instructions, plans, memory",
  compactionModel: "the model in use",
};
/** Options that pi's model and session decide: how each is read, and where it comes from. */
const FROM_PI = {
  contextWindow: ({ terms }) => [terms.contextWindow, terms.isLearned ? "a refusal" : "pi's catalogue"],
  cache: ({ terms }) => [terms.cache, "pi's catalogue"],
  maxPromptTokens: ({ terms }) => [terms.maxPromptTokens, terms.source],
  warmedAt: ({ times }) => [times.warmedAt.length, "pi's session file"],
  coldAt: ({ times }) => [times.coldAt.length, "pi's session file"],
};

/**
 * The panel of `/strata` for the request `{ messages, sent, isPlanned }` and its dry run. `session` has the rest:
 * `contextWindow`, `isPaused`, its `calls`, the `notes` on the model, the `dollars` pi has counted, the `bill` of the
 * conversation, when pi `warmed` the cache, and the `problems` of the settings.
 */
export async function panelText({ messages, sent, isPlanned }, explained, session) {
  const { contextWindow, isPaused, calls, notes, dollars, bill, warmed, problems } = session;
  const { tokensBefore, tokensAfter, scale, schedule, edits } = explained;
  const kinds = await tokensByKind(sent, { scale, total: tokensAfter });
  const share = Math.round((100 * tokensAfter) / contextWindow);
  const holds = isPlanned ? "No request since pi started. The next one would hold" : "The last request held";
  const would = isPlanned ? "would hold" : "would have held";
  return [
    ...(isPaused ? ["pi-strata is paused; this is the last request it edited."] : []),
    `${holds} about ${whole(tokensAfter)} tokens, ${share} % of the window of ${whole(contextWindow)}.`,
    `Unedited it ${would} ${whole(tokensBefore)}. All figures are the provider's tokens, estimated.`,
    "",
    ...table(["in the request", "tokens", "messages"], kinds.map(cells)),
    "",
    ...(edits.length === 0
      ? ["Nothing is edited."]
      : table(
          ["edited, and why", "tokens saved", "messages"],
          reasons(messages, edits, tokensBefore - tokensAfter).map(cells),
        )),
    "",
    `Schedule: ${schedule.mode}; ${schedule.why}.`,
    ...notes,
    ...(warmed.length === 0
      ? []
      : [`pi kept the cache warm ${times(warmed.length)}, last at ${clock(warmed.at(-1))}.`]),
    `This session: ${dollars > 0 ? `pi has counted $${dollars.toFixed(3)}` : "–, as pi has counted no dollars"}.`,
    ...billTexts(bill),
    ...(calls.count === 0
      ? []
      : [`Since pi started: ${whole(calls.tokensSaved)} tokens not sent in ${calls.count} calls.`]),
    ...problems.map(problemText),
  ].join("\n");
}

/** The text of `/strata status`: each option, its value and where that comes from. */
export function statusText(session) {
  const { isPaused, settings } = session;
  const names = [...Object.keys(contract.hookOptions), ...Object.keys(OWN_SETTINGS)];
  const rows = names
    .filter((name) => !UNSHOWN.includes(name))
    .map((name) => {
      const [value, source] = inForce(name, session);
      return [name, value === undefined ? (WITHOUT_VALUE[name] ?? "none") : shown(value), source];
    });
  return [
    `pi-strata ${strata.status().version} ${isPaused ? "is paused: requests are sent whole" : "edits requests"}.`,
    "",
    ...table(["option", " value", " from"], rows),
    ...(settings.problems.length === 0 ? [] : ["", ...settings.problems.map(problemText)]),
  ].join("\n");
}

/** The value of an option and its source: the extension's code, the user's settings, pi, or the default. */
function inForce(name, { settings, given, terms, times }) {
  if (given[name] !== undefined) return [given[name], "the extension's code"];
  if (settings.sources[name] !== undefined)
    return [settings.options[name] ?? settings.own[name], settings.sources[name]];
  const [value, source] = FROM_PI[name]?.({ terms, times }) ?? [];
  return value === undefined ? [defaultOf(name), "default"] : [value, source];
}

/** Sentences about the saving and the cache misses; none without a price. */
function billTexts({ dollars, misses }) {
  const texts = [];
  if (dollars.saved >= LEAST_DOLLARS)
    texts.push(
      `Without pi-strata this conversation would have cost about $${dollars.saved.toFixed(3)} more.`,
    );
  const causes = new Map();
  for (const { cause } of misses) causes.set(cause, (causes.get(cause) ?? 0) + 1);
  const told = Array.from(causes, ([cause, count]) => `${count} ${CAUSES[cause]}`).join(", ");
  if (misses.length > 0) texts.push(`The provider's cache missed ${times(misses.length)}: ${told}.`);
  return texts;
}

export function problemText(problem) {
  return `Settings: ${problem}`;
}

function cells([name, tokens, count]) {
  return [name, whole(tokens), String(count)];
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

/** Rows of `[what and why, tokens saved, messages]`, the largest first, that add up to `total`. */
function reasons(messages, edits, total) {
  const counted = edits.reduce((sum, { tokensSaved }) => sum + tokensSaved, 0);
  // Edits are in the counter's tokens, the total is in the provider's.
  const scale = counted > 0 ? total / counted : 1;
  const rows = new Map();
  for (const { index, action, reason, tokensSaved } of edits) {
    const { toolName, role } = messages[index] ?? {};
    const name = `${toolName ?? role}: ${ACTIONS[action] ?? action}, ${reason}`;
    const [, tokens, count] = rows.get(name) ?? [name, 0, 0];
    rows.set(name, [name, tokens + tokensSaved * scale, count + 1]);
  }
  return Array.from(rows.values()).sort((a, b) => b[1] - a[1]);
}
