// The figures of the last runs, as the READMEs and pages of docs show them. A row of a table is known by its first cell, or by
// the policy that a comment in it names. Other figures stand between marks, so the words around them stay the writer's.

import { existsSync, readFileSync } from "node:fs";

const RESULTS = new URL("../bench/results/", import.meta.url);
/** Pages with figures, from the root. */
export const PAGES = ["README.md", "README.zh-CN.md", "docs/how-it-works.md", "docs/tokens.md"];

/** Ways to keep a context small on a local server, as the page names them. */
const LOCAL_WAYS = {
  pi: "pi's own compaction",
  "rounds 0.75 → 0.5": "whole rounds 0.75 → 0.5",
  "rounds when full": "whole rounds only when full",
  mask: "old results masked",
  everyCall: "everyCall",
  faithful: "faithful",
  balanced: "balanced",
  thrifty: "thrifty",
};

/** The session of the READMEs' one table, and from how many calls on a session is a long one. */
const SHOWN_SESSION = "large-session.jsonl";
const LONG_CALLS = 300;

const results = (name) => JSON.parse(readFileSync(new URL(name, RESULTS), "utf8"));
const percent = (share) => `${(100 * share).toFixed(1)} %`;
/** Three digits, as nobody needs more of a measurement. */
const short = (number) => (number >= 100 ? String(Math.round(number)) : number.toPrecision(3));

/** Rows by their first cell: megabytes per second of each counter, and what each policy costs and keeps. */
function rows() {
  const { warm, cold } = results("tokens.json");
  const counters = Object.entries(warm.session).map(([name, { median }]) => [
    name,
    ...[median, warm.code[name].median, warm.chinese[name].median, cold.session[name].median].map(short),
    String(Math.round(cold.session[name].loadMs)),
  ]);
  const policies = results("economy.json").rows.map(({ policy, dollars, recall, toolRecall, userText }) => [
    policy,
    ...[dollars.prefix, dollars.breakpoint].map((sum) => sum.toFixed(2)),
    ...[recall, toolRecall, userText].map(percent),
  ]);
  return [...counters, ...policies];
}

/** The one comparison that is named in a sentence, of the rows of one session. */
function pair(rows) {
  const of = (policy) => rows.find((row) => row.policy === policy);
  const [without, ours] = [of("no compression"), of("sticky, balanced")];
  const [before, after] = [without.dollars.breakpoint, ours.dollars.breakpoint];
  return { without, ours, before, after, change: signed(after / before - 1) };
}

/** A change in whole percents, with its sign: what costs more must not read as a saving. */
function signed(share) {
  const percents = Math.round(100 * share);
  return `${percents > 0 ? "+" : percents < 0 ? "−" : ""}${Math.abs(percents)} %`;
}

/** What stands between marks, `<!-- name words -->` and `<!-- /name -->`, given the words; undefined leaves it as it is. */
const MARKED = {
  /** The same sessions where no host compacts, all together. */
  uncompacted() {
    const { rows } = results("economy-public-uncompacted.json");
    const { ours, before, after, change } = pair(rows.filter(({ session }) => session === "all"));
    return `$${before.toFixed(2)} → $${after.toFixed(2)} (${change}; ${percent(ours.recall)})`;
  },
  /** They again, under a compaction by their hosts. */
  hosts(policy) {
    const { rows } = results("economy-public-uncompacted.json");
    const found = rows.find((row) => row.session === "all" && row.policy === policy);
    if (found === undefined) return undefined;
    const { dollars, toolRecall, userText } = found;
    return `$${dollars.breakpoint.toFixed(2)} (${percent(toolRecall)}; ${percent(userText)})`;
  },
  /** A table under this header: our settings and the others over the same sessions, the cheapest first. */
  curve(header) {
    const { rows, sweep } = results("economy-public-uncompacted.json");
    const isShown = ({ session, policy }) => session === "all" && !/everyCall|^sticky, /.test(policy);
    const shown = [...rows, ...sweep].filter(isShown);
    const lines = shown
      .toSorted((a, b) => a.dollarsWithRereads - b.dollarsWithRereads)
      .map(({ policy, dollarsWithRereads, recall, toolRecall, userText, blindEdits }) => {
        const shares = [recall, toolRecall, userText, blindEdits].map(percent);
        return `| ${[policy.replace("sticky", "economy"), dollarsWithRereads.toFixed(2), ...shares].join(" | ")} |\n`;
      });
    return table(header, lines);
  },
  /** Megabytes per second of a counter, or how soon it has counted for the first time. */
  tokens(words) {
    const [counter, what] = words.split(" ");
    const { warm, cold } = results("tokens.json");
    if (what === "load") return `${Math.round(cold.session[counter].loadMs)} ms`;
    return `${short({ warm, cold }[what].session[counter].median)} MB/s`;
  },
  calls: () => String(shownRows().find(({ policy }) => policy === "no compression").calls),
  long: () => savings((calls) => calls >= LONG_CALLS),
  compacted: () => savings((calls) => calls < LONG_CALLS),
  /** A table under this header, a row per public session, once `npm run bench:economy -- --public` has been run. */
  public(header) {
    if (!existsSync(new URL("economy-public.json", RESULTS))) return undefined;
    const { rows } = results("economy-public.json");
    const lines = Array.from(new Set(rows.map(({ session }) => session)), (name) => {
      const { without, ours, before, after, change } = pair(rows.filter(({ session }) => session === name));
      const cells = [name, without.calls, before.toFixed(2), after.toFixed(2), change, percent(ours.recall)];
      return `| ${cells.join(" | ")} |\n`;
    });
    return table(header, lines);
  },
  /** A table under this header, a row per window and way to keep a context small on a local server. */
  local(header) {
    const thousands = (tokens) => (tokens === 0 ? "" : `${(tokens / 1000).toFixed(1)}k`);
    const share = (value) => `${Math.round(100 * value)} %`;
    const lines = results("local.json").map(
      ({ window, arm, evaluated, summaries, refused, ...seen }, i, rows) => {
        const first = rows[i - 1]?.window === window ? "" : window.toLocaleString("en-US");
        const tokens = [thousands(evaluated), thousands(summaries), refused === 0 ? "" : refused];
        return `| ${[first, LOCAL_WAYS[arm], ...tokens, share(seen.userText), share(seen.toolNames)].join(" | ")} |\n`;
      },
    );
    return table(header, lines);
  },
  /** Tokens that balanced evaluates in this window, as a share of those under pi's own compaction. */
  localshare(window) {
    const of = (arm) => results("local.json").find((row) => row.window === Number(window) && row.arm === arm);
    return `${Math.round((100 * of("balanced").evaluated) / of("pi").evaluated)} %`;
  },
  /** A table under this header, a row per vocabulary from a file. */
  vocabularies(header) {
    return table(
      header,
      results("vocabularies.json").rows.map((cells) => `| ${cells.join(" | ")} |\n`),
    );
  },
};

function table(header, lines) {
  return `\n| ${header} |\n${"|---".repeat(header.split("|").length)}|\n${lines.join("")}`;
}

const shownRows = () =>
  results("economy-public.json").rows.filter(({ session }) => session === SHOWN_SESSION);

/** The least and the most that sessions of so many calls save under a breakpoint cache, in whole percents. */
function savings(isMeant) {
  const { rows } = results("economy-public.json");
  const names = new Set(rows.map(({ session }) => session).filter((name) => name !== "all"));
  const shares = Array.from(names, (name) => pair(rows.filter(({ session }) => session === name)))
    .filter(({ without }) => isMeant(without.calls))
    .map(({ before, after }) => Math.round(100 * (1 - after / before)));
  return `${Math.min(...shares)}–${Math.max(...shares)} %`;
}

/** Cells of the READMEs' table by policy. */
function shownCells() {
  return new Map(
    shownRows().map(({ policy, dollars, toolRecall, userText, copied }) => {
      const shares = [toolRecall, userText, 1 - copied].map(percent);
      return [policy, [`$${dollars.breakpoint.toFixed(2)}`, ...shares]];
    }),
  );
}

/** A page with these figures in it. */
export function withFigures(page) {
  const lines = new Map(rows().map((cells) => [cells[0], `| ${cells.join(" | ")} |`]));
  const cells = shownCells();
  return page
    .replace(/^\| ([^|]+?) \|.*$/gm, (line, first) => lines.get(first) ?? line)
    .replace(/^(\| [^|]*<!-- ([^>]+) --> \|).*$/gm, (line, start, policy) =>
      cells.has(policy) ? `${start} ${cells.get(policy).join(" | ")} |` : line,
    )
    .replace(/(<!-- (\w+) ?(.*?) ?-->).*?(<!-- \/\2 -->)/gs, (all, start, name, words, end) => {
      const text = MARKED[name]?.(words);
      return text === undefined ? all : `${start}${text}${end}`;
    });
}
