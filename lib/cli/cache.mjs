// `pi-strata cache`: the dollars of a recorded session by its own usage, the cache misses with their causes, and what each move
// of the hook cost and saved.

import tools from "../tools/ledger.js";
import { some, times } from "./numbers.mjs";
import { figureList, percent, printable, textTable, whole } from "./table.mjs";

/** Most rows of a table that are printed; `--json` has them all. */
const MOST_ROWS = 20;

const CAUSES = {
  hook: "an edit by the hook",
  expired: "the entry had expired",
  model: "another model or provider",
  host: "the host changed the prefix",
  provider: "the provider itself, as far as the transcript shows",
};

/** The ledger of a recording, over all its stretches. */
export function ledgerOf(recording, options) {
  const lists = recording.stretches.map(({ opening }, stretch) => ({
    list: recording.messagesIn(stretch),
    from: opening.length,
  }));
  return tools.ledgerOf("cache", lists, { ...recording.times, ...options });
}

/** The ledger as text. */
export function ledgerText(path, session, ledger) {
  const parts = [figures(path, session, ledger), missTable(ledger), moveTable(ledger)];
  return parts.filter((part) => part !== undefined).join("\n\n");
}

function figures(path, session, ledger) {
  const { calls, unreportedCalls, unpricedCalls, editedCalls, tokens, dollars } = ledger;
  const { billed, estimated } = dollars;
  const isEdited = editedCalls > 0;
  const { warmedAt, coldAt } = session.times;
  const lines = [
    ["session", printable(path)],
    ["format", `${session.format}, ${some(session.length, "message")}`],
    ["model calls", whole(calls)],
    unreportedCalls > 0 && ["  without a usage", whole(unreportedCalls)],
    ["tokens sent, all calls", `${whole(tokens.prompt)}, as the provider reported`],
    ["  read from the cache", `${whole(tokens.cacheRead)} (${percent(ledger.hitRate)})`],
    ["  written to it", whole(tokens.cacheWrite)],
    ["tokens answered", whole(tokens.output)],
    calls > unreportedCalls && ["billed", `${usd(billed)}${howKnown(billed, estimated)}`],
    unpricedCalls > 0 && ["  without a price", `${some(unpricedCalls, "call")}; --price gives one`],
    warmedAt.length > 0 && ["kept warm by pi", times(warmedAt.length)],
    coldAt.length > 0 && ["cut on demand", times(coldAt.length)],
    ...(isEdited ? comparison(ledger) : []),
    ["calls edited by the hook", isEdited ? whole(editedCalls) : "none: it was not at work, or had no need"],
    ...predictions(ledger.predicted),
  ].filter((line) => line !== false);
  return figureList(lines);
}

/** Compares with the same conversation without the hook, if that would have fitted the window. */
function comparison({ callsOverWindow, dollars: { withoutHook, saved } }) {
  if (callsOverWindow > 0) {
    return [["without the hook", `impossible: ${some(callsOverWindow, "call")} would be over the window`]];
  }
  if (saved === undefined) return [["without the hook", usd(undefined)]];
  return [
    ["without the hook", `${usd(withoutHook)}, estimated`],
    [saved >= 0 ? "saved" : "cost more", usd(Math.abs(saved))],
  ];
}

function howKnown(billed, estimated) {
  if (!(estimated > 0)) return "";
  return estimated >= billed ? ", estimated from prices" : `, ${usd(estimated)} of it estimated from prices`;
}

function predictions({ count, median, p95 }) {
  return count > 0 ? [["prompts predicted within", `median ${share(median)}, p95 ${share(p95)}`]] : [];
}

function missTable({ misses, tokens }) {
  if (misses.length === 0)
    return tokens.cacheRead > 0 ? "No cache misses." : "No cache was used, as far as the usage tells.";
  const rows = Object.entries(CAUSES)
    .map(([cause, title]) => [title, misses.filter((miss) => miss.cause === cause)])
    .filter(([, found]) => found.length > 0)
    .map(([title, found]) => row(title, found));
  if (rows.length > 1) rows.push(row("all", misses));
  return textTable(["cache misses", "calls", "tokens not read", "cost"], rows);
}

function row(title, misses) {
  const sum = (of) => misses.reduce((total, miss) => total + of(miss), 0);
  const isPriced = misses.some(({ dollars }) => dollars !== undefined);
  return [
    title,
    whole(misses.length),
    whole(sum((miss) => miss.tokens)),
    isPriced ? usd(sum((miss) => miss.dollars ?? 0)) : "–",
  ];
}

function moveTable({ moves }) {
  if (moves.length === 0) return undefined;
  const newest = moves.slice(-MOST_ROWS);
  const rows = newest.map(({ call, tokens, rewritten, cost, saved, reason }) => [
    `call ${whole(call)}`,
    whole(tokens),
    whole(rewritten),
    usd(cost),
    usd(saved),
    reason,
  ]);
  const heads = ["moves", "took out", "rewritten", "cost", "saved since", "why"];
  const table = textTable(heads, rows, { hasProse: true });
  const older = moves.length - newest.length;
  return older > 0 ? `${table}\n${whole(older)} earlier moves are not shown; --json has them.` : table;
}

const usd = (dollars) =>
  dollars === undefined
    ? "–"
    : `${dollars < 0 ? "−" : ""}$ ${Math.abs(dollars).toFixed(dollars !== 0 && Math.abs(dollars) < 0.1 ? 4 : 2)}`;
const share = (value) => `${(100 * value).toFixed(2)} %`;
