// The status line, and the texts of `/strata` and `/strata status`. They have numbers and names, never text of the conversation.

import strata from "../index.js";
import { times, whole } from "../lib/cli/numbers.mjs";
import contract from "../lib/contract.js";
import { sumOf } from "../lib/helpers.js";
import { reserveIn } from "../lib/hook/options.js";
import { ledger } from "../lib/tools/ledger.js";
import { MARGIN } from "./model.mjs";
import { table } from "./screen.mjs";
import { defaultOf, SETTINGS, shown } from "./settings.mjs";

const { actionWords, missCauses } = contract;
export const NO_REQUEST = "pi-strata has seen no request of this session yet.";
/** The row that a message's tokens count in, by its role. */
const KINDS = {
  user: "user",
  bashExecution: "shell commands",
  compactionSummary: "summaries",
  branchSummary: "summaries",
};
const BLOCK_KINDS = { text: "answers", thinking: "thinking", toolCall: "tool calls" };
/** Name of the tokens beside the conversation: system messages, the tools and the provider's framing. */
const REST = "prompt and tools";
/** Smaller savings are not mentioned. */
const LEAST_DOLLARS = 0.001;
/** Words for options without a value. */
const WITHOUT_VALUE = {
  overheadTokens: "learned",
  keep: "instructions, plans, memory",
};
/** Options that pi's model and session decide, each with its value and its source. */
const FROM_PI = {
  contextWindow: ({ terms }) => [terms.contextWindow, terms.windowSource],
  takesImages: ({ terms }) => [!terms.isBlind, "pi's catalogue"],
  cache: ({ terms }) => [terms.cache, "pi's catalogue"],
  maxPromptTokens: ({ terms }) => [terms.maxPromptTokens, terms.source],
  reserveTokens: ({ options }) => [reserveIn(options.contextWindow()), "default"],
  warmedAt: ({ times: { warmedAt } }) => [warmedAt.length, "pi's session file"],
  coldAt: ({ times: { coldAt } }) => [coldAt.length, "pi's session file"],
};

const round = (value) => Number(value.toPrecision(3));
const clock = (ms) => new Date(ms).toTimeString().slice(0, 5);
const thousands = (tokens) => (tokens < 1000 ? `${Math.round(tokens)}` : `${Math.round(tokens / 1000)}k`);
const problemsOf = ({ settings }) => settings.problems.map((problem) => `Settings: ${problem}`);

/** The effect of a call, in a few characters: `strata 142k → 61k`. */
export function statusLine({ type, code, tokensBefore, tokensAfter }) {
  if (type === "failed") return `strata off: ${code}`;
  const [before, after] = [thousands(tokensBefore), thousands(tokensAfter)];
  return tokensAfter < tokensBefore && before !== after ? `strata ${before} → ${after}` : `strata ${after}`;
}

/** The text of `/strata`. */
export async function panelText(session) {
  const { messages, sent, isPlanned } = await session.latest();
  if (messages.length === 0) return [NO_REQUEST, ...problemsOf(session)].join("\n");
  const explained = await session.explain(messages);
  const { tokensBefore, tokensAfter, schedule } = explained;
  const { dollars } = await ledger(messages, session.options);
  const { count, tokensSaved } = session.calls;
  const counted = session.record.dollars();
  const window = session.options.contextWindow();
  const share = Math.round((100 * tokensAfter) / window);
  const warmed = session.times.warmedAt;
  const holds = isPlanned ? "No request since pi started. The next one would hold" : "The last request held";
  const would = isPlanned ? "would hold" : "would have held";
  return [
    session.isPaused && "pi-strata is paused; this is the last request it edited.",
    `${holds} about ${whole(tokensAfter)} tokens, ${share} % of the window of ${whole(window)}.`,
    `Unedited it ${would} ${whole(tokensBefore)}. All figures are the provider's tokens, estimated.`,
    "",
    ...table(["in the request", "tokens", "messages"], await contentRows(sent, explained)),
    "",
    ...editLines(messages, explained),
    "",
    `Schedule: ${schedule.mode}; ${schedule.why}.`,
    priceText(session),
    compactionText(session),
    refusalText(session),
    warmed.length > 0 && `pi kept the cache warm ${times(warmed.length)}, last at ${clock(warmed.at(-1))}.`,
    `This session: ${counted > 0 ? `pi has counted $${counted.toFixed(3)}` : "–, as pi has counted no dollars"}.`,
    dollars.saved >= LEAST_DOLLARS &&
      `Without pi-strata this conversation would have cost about $${dollars.saved.toFixed(3)} more.`,
    missText(session.misses),
    count > 0 && `Since pi started: ${whole(tokensSaved)} tokens not sent in ${count} calls.`,
    ...problemsOf(session),
  ]
    .filter((line) => typeof line === "string")
    .join("\n");
}

/** The text of `/strata status`: each option, its value and where that comes from. */
export function statusText(session) {
  const rows = SETTINGS.map((name) => {
    const [value, source] = inForce(name, session);
    return [name, value === undefined ? (WITHOUT_VALUE[name] ?? "none") : shown(value), source];
  });
  const problems = problemsOf(session);
  return [
    `pi-strata ${strata.status().version} ${session.isPaused ? "is paused: requests are sent whole" : "edits requests"}.`,
    "",
    ...table(["option", "value", "from"], rows),
    ...(problems.length === 0 ? [] : ["", ...problems]),
  ].join("\n");
}

/** The value of an option and its source: the extension's code, the user's settings, pi, or the default. */
function inForce(name, session) {
  const { given, settings } = session;
  if (given[name] !== undefined) return [given[name], "the extension's code"];
  if (settings.sources[name] !== undefined) return [settings.values[name], settings.sources[name]];
  const [value, source] = FROM_PI[name]?.(session) ?? [];
  return value === undefined ? [defaultOf(name), "default"] : [value, source];
}

function priceText({ model, terms: { cache, step } }) {
  const name = `${model?.provider ?? "unknown"}/${model?.id ?? "model"}`;
  if (!(model?.cost?.input > 0))
    return `Prices of ${name}: pi's catalogue names none; they are learned from the bills.`;
  const caching = cache
    ? `cache reads × ${round(cache.read)}, writes × ${round(cache.write)}`
    : "the cache's are learned";
  const parts = [
    `Prices of ${name}: $${model.cost.input} a million tokens of input, ${caching}`,
    step &&
      `× ${round(step.factor)} above ${whole(step.above)}, so requests stay below ${whole(MARGIN * step.above)}`,
  ];
  return `${parts.filter(Boolean).join("; ")}.`;
}

function compactionText({ terms: { compactsAbove, declines }, declined }) {
  if (compactsAbove === undefined) return undefined;
  if (!declines && declined === 0)
    return `pi compacts above ${whole(compactsAbove)} tokens; requests stay below that.`;
  const why = declines ? ", less than half of the window" : "";
  return `pi would compact above ${whole(Math.max(0, compactsAbove))} tokens${why}. pi-strata declines that while requests fit: ${times(declined)} so far.`;
}

function refusalText({ terms: { contextWindow, catalogued } }) {
  if (contextWindow === catalogued) return undefined;
  return `The server refused a request as too long: its window counts as ${whole(contextWindow)} tokens instead of ${whole(catalogued)}.`;
}

function missText(misses) {
  if (misses.length === 0) return undefined;
  const byCause = grouped(misses, ({ cause }) => cause);
  const causes = Array.from(byCause, ([cause, list]) => `${list.length} × ${missCauses[cause].en}`);
  return `Since pi started the provider's cache missed ${times(misses.length)}: ${causes.join(", ")}.`;
}

/** Rows of the messages by kind; their tokens add up to `tokensAfter`. */
async function contentRows(messages, { scale, tokensAfter }) {
  const rows = [];
  const talk = messages.filter(({ role }) => role !== "system");
  for (const [kind, parts] of grouped(talk.flatMap(partsOf), ([kind]) => kind)) {
    const tokens = await strata.countTokensAsync(parts.map(([, part]) => part));
    rows.push([kind, scale * tokens, parts.length]);
  }
  const counted = sumOf(rows.map(([, tokens]) => tokens));
  if (tokensAfter > counted) return cells([...rows, [REST, tokensAfter - counted, ""]]);
  return cells(rows, tokensAfter / counted);
}

/** `[kind, message]` of each part of a message that is counted on its own. */
function partsOf(message) {
  const { role, content, toolName } = message ?? {};
  if (role === "toolResult") return [[`results of ${toolName}`, message]];
  if (role !== "assistant" || !Array.isArray(content)) return [[KINDS[role] ?? "other", message]];
  const kinds = grouped(content, (block) => BLOCK_KINDS[block?.type] ?? "other");
  return Array.from(kinds, ([kind, blocks]) => [kind, { ...message, content: blocks }]);
}

/** A table of the edits by target and reason; its tokens add up to the total saved. */
function editLines(messages, { edits, tokensBefore, tokensAfter }) {
  if (edits.length === 0) return ["Nothing is edited."];
  const kinds = grouped(edits, ({ index, action, reason }) => {
    const { toolName, role } = messages[index] ?? {};
    return `${toolName ?? role}: ${actionWords[action].en}, ${reason}`;
  });
  const saved = (list) => sumOf(list.map(({ tokensSaved }) => tokensSaved));
  const rows = Array.from(kinds, ([kind, list]) => [kind, saved(list), list.length]);
  // Edits count the counter's tokens, the total the provider's.
  const scale = saved(edits) > 0 ? (tokensBefore - tokensAfter) / saved(edits) : 1;
  return table(["edited, and why", "tokens saved", "messages"], cells(rows, scale));
}

/** Rows of `[name, tokens, count]` as texts, the largest first. */
function cells(rows, scale = 1) {
  const sorted = rows.toSorted((a, b) => b[1] - a[1]);
  return sorted.map(([name, tokens, count]) => [name, whole(tokens * scale), count]);
}

/** The items by key, in the order of first occurrence. */
function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}
