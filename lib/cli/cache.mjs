// `pi-strata cache`: the dollars of a recorded session by its own usage, the cache misses with their causes, and what each move
// of the hook cost and saved.

import book from "../tools/ledger_book.js";
import { percent, some, times, whole } from "./numbers.mjs";
import { price } from "./options.mjs";
import { load } from "./session.mjs";
import { figureList, textTable } from "./terminal.mjs";

/** Most rows of a table that are printed; `--json` has them all. */
const MOST_ROWS = 20;

const CAUSES = {
  hook: "an edit by the hook",
  expired: "the entry had expired",
  model: "another model or provider",
  host: "the host changed the prefix",
  provider: "the provider itself, as far as the usage tells",
};

export const cache = {
  own: { price },
  async run({ positionals, hook, price: prices }) {
    const { path, session, told } = await load(positionals);
    const ledger = await ledgerOf(session, { ...hook, prices });
    const parts = [figuresOf(path, session, ledger), missTable(ledger), moveTable(ledger)];
    return { document: { ...told, ...ledger }, text: parts.filter(Boolean).join("\n\n") };
  },
};

/** The ledger of a recording, over all its stretches. */
export function ledgerOf(recording, options) {
  const lists = recording.stretches.map(({ opening, to }, stretch) => ({
    list: recording.messagesBefore({ stretch, at: to }),
    from: opening.length,
  }));
  return book.ledgerOf("cache", lists, { ...recording.times, ...options });
}

function figuresOf(path, { format, length, times: { warmedAt, coldAt } }, ledger) {
  const { calls, unreportedCalls, unpricedCalls, editedCalls, tokens, dollars, predicted } = ledger;
  const share = (value) => `${(100 * value).toFixed(2)} %`;
  const within = `median ${share(predicted.median)}, p95 ${share(predicted.p95)}`;
  return figureList([
    ["session", path],
    ["format", `${format}, ${some(length, "message")}`],
    ["model calls", whole(calls)],
    unreportedCalls > 0 && ["  without a usage", whole(unreportedCalls)],
    ["tokens sent, all calls", `${whole(tokens.prompt)}, as the provider reported`],
    ["  read from the cache", `${whole(tokens.cacheRead)} (${percent(ledger.hitRate)})`],
    ["  written to it", whole(tokens.cacheWrite)],
    ["tokens answered", whole(tokens.output)],
    calls > unreportedCalls && ["billed", `${usd(dollars.billed)}${howKnown(dollars)}`],
    unpricedCalls > 0 && ["  without a price", `${some(unpricedCalls, "call")}; --price gives one`],
    warmedAt.length > 0 && ["kept warm by pi", times(warmedAt.length)],
    coldAt.length > 0 && ["cut on demand", times(coldAt.length)],
    ...(editedCalls > 0 ? comparison(ledger) : []),
    [
      "calls edited by the hook",
      editedCalls > 0 ? whole(editedCalls) : "none: it was not at work, or had no need",
    ],
    predicted.count > 0 && ["prompts predicted within", within],
  ]);
}

/** Compares with the same conversation without the hook, if that would have fitted the window. */
function comparison({ callsOverWindow, dollars: { withoutHook, saved } }) {
  if (callsOverWindow > 0)
    return [["without the hook", `impossible: ${some(callsOverWindow, "call")} would be over the window`]];
  if (saved === undefined) return [["without the hook", usd(saved)]];
  return [
    ["without the hook", `${usd(withoutHook)}, estimated`],
    [saved >= 0 ? "saved" : "cost more", usd(Math.abs(saved))],
  ];
}

function howKnown({ billed, estimated }) {
  if (!(estimated > 0)) return "";
  return estimated >= billed ? ", estimated from prices" : `, ${usd(estimated)} of it estimated from prices`;
}

function missTable({ misses, tokens }) {
  if (misses.length === 0)
    return tokens.cacheRead > 0 ? "No cache misses." : "No cache was used, as far as the usage tells.";
  const causes = Object.entries(CAUSES)
    .map(([cause, title]) => [title, misses.filter((miss) => miss.cause === cause)])
    .filter(([, found]) => found.length > 0);
  const rows = causes.length > 1 ? [...causes, ["all", misses]] : causes;
  const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);
  const cells = rows.map(([title, found]) => {
    const priced = found.flatMap(({ dollars }) => dollars ?? []);
    const tokens = sumOf(found.map((miss) => miss.tokens));
    return [title, whole(found.length), whole(tokens), usd(priced.length > 0 ? sumOf(priced) : undefined)];
  });
  return textTable(["cache misses", "calls", "tokens not read", "cost"], cells);
}

function moveTable({ moves }) {
  if (moves.length === 0) return undefined;
  const rows = moves.slice(-MOST_ROWS).map(({ call, tokens, rewritten, cost, saved, reason = "–" }) => {
    return [`call ${whole(call)}`, whole(tokens), whole(rewritten), usd(cost), usd(saved), reason];
  });
  const heads = ["moves", "took out", "rewritten", "cost", "saved since", "why"];
  const table = textTable(heads, rows, { hasProse: true });
  const older = moves.length - rows.length;
  return older > 0 ? `${table}\n${whole(older)} earlier moves are not shown; --json has them.` : table;
}

function usd(dollars) {
  if (dollars === undefined) return "–";
  const digits = dollars !== 0 && Math.abs(dollars) < 0.1 ? 4 : 2;
  return `${dollars < 0 ? "−" : ""}$ ${Math.abs(dollars).toFixed(digits)}`;
}
