// The results of a run as one HTML page that needs nothing beside it, no script and no network.

import { readFileSync } from "node:fs";
import { percent, whole } from "../../lib/cli/numbers.mjs";
import { forestPlot, taskGrid } from "./page-figures.mjs";
import { points, pText, signed, verdictText } from "./text.mjs";

const css = readFileSync(new URL("page.css", import.meta.url), "utf8");

/** The page, of the results of `summarize`. */
export function pageOf(results) {
  const { settings, arms, comparisons, records } = results;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Paired experiment: ${escaped(settings.model)}</title>
<style>${css}</style>
<h1>Does the agent still succeed?</h1>
${opening(results)}
<h2>Success, arm against arm</h2>
<figure>${forestPlot(comparisons, settings)}
<figcaption>Difference of tasks solved, in percentage points, with its 95 % interval. The dashed line is the margin of ${points(settings.margin)}
that was stated before the run: an arm whose whole interval is to the right of it is not worse by that much.</figcaption></figure>
<div class="wide">${comparisonTable(comparisons, settings)}</div>
<h2>What each arm did and cost</h2>
<div class="wide">${armTable(arms)}</div>
<h2>Each task</h2>
<figure>${taskGrid(settings, records)}
<figcaption>Filled: its test passed. One column a task, in the order they were done; point at a square for its name.</figcaption></figure>
<h2>How to read it</h2>
${terms(settings)}
</html>
`;
}

function opening({ settings, tasks, arms }) {
  const { provider, model, piVersion, languages, sessions, window, isScripted, begunAt } = settings;
  const done = arms.reduce((sum, arm) => sum + arm.tasks, 0);
  const planned = tasks * arms.length;
  const rest = done < planned ? ` ${whole(done)} of ${whole(planned)} are settled so far.` : "";
  const scripted = isScripted
    ? `<p class="scripted"><strong>A scripted model, not a real one.</strong> It solves a task only if the lines it needs are in the
request, and always then. The figures show that the experiment works; they say nothing of how well any model does.</p>`
    : "";
  return `<p class="quiet">${escaped(`${provider}/${model}`)}, pi ${escaped(piVersion)}, begun ${escaped(begunAt ?? "")}</p>
<p>${whole(tasks)} tasks in ${languages.join(", ")}, chained in ${sessions} ${sessions === 1 ? "session" : "sessions"} of the real pi coding agent, once
under each arm, with a window of ${whole(window)} tokens.${rest}</p>${scripted}`;
}

function comparisonTable(comparisons, { margin }) {
  const heads = [
    "arm, against",
    "tasks",
    "only it",
    "only the other",
    "difference",
    "95 % interval",
    "McNemar p",
    "dollars",
  ];
  const rows = comparisons.map((comparison) => {
    const { arm, baseline, pairs, gained, lost, difference, low, high, p, dollars, baselineDollars } =
      comparison;
    return [
      `${arm}, against ${baseline}<small>${verdictText(comparison, margin)}</small>`,
      whole(pairs),
      whole(gained),
      whole(lost),
      signed(difference),
      `${signed(low)} to ${signed(high)}`,
      `${escaped(pText(p))}${overSessions(comparison)}`,
      `${dollars.toFixed(2)}<small>of ${baselineDollars.toFixed(2)}</small>`,
    ];
  });
  return table(heads, rows);
}

function overSessions({ pBySessions: p }) {
  return p === undefined ? "" : `<small>${escaped(pText(p))} over sessions</small>`;
}

function armTable(arms) {
  const heads = [
    "arm",
    "solved",
    "steps",
    "prompt",
    "cached",
    "output",
    "dollars",
    "misses",
    "summaries",
    "refused",
  ];
  const rows = arms.map(
    ({
      arm,
      says,
      solved,
      tasks,
      steps,
      tokens,
      dollars,
      misses,
      missedTokens,
      summaries,
      refused,
      ...more
    }) => {
      const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
      const notes = ["failed", "unknown", "stopped", "interrupted"].filter((name) => more[name] > 0);
      const note = notes.map((name) => `; ${name} ${more[name]}`).join("");
      return [
        `${arm}<small>${escaped(says)}${note}</small>`,
        `${whole(solved)}<small>of ${whole(tasks)}</small>`,
        whole(steps),
        `${whole(prompt / 1000)}k`,
        percent(prompt > 0 ? tokens.cacheRead / prompt : 0),
        whole(tokens.output),
        dollars.toFixed(2),
        `${whole(misses)}<small>${whole(missedTokens / 1000)}k tokens</small>`,
        whole(summaries),
        whole(refused),
      ];
    },
  );
  return table(heads, rows);
}

function table(heads, rows) {
  const row = (cells, tag) => `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>`;
  return `<table><thead>${row(heads, "th")}</thead><tbody>${rows.map((cells) => row(cells, "td")).join("\n")}</tbody></table>`;
}

function terms({ margin, effect }) {
  const list = {
    "Only it, only the other":
      "Tasks that one of the two solved and the other did not. Only these tell the two apart.",
    "95 % interval":
      "Tango's score interval for paired shares: true differences the data do not speak against.",
    "McNemar p":
      "The exact two-sided test of whether the two solve equally many. A large p does not show that they do: for that the interval must lie within the margin.",
    Margin: `The loss that was declared acceptable before the run: ${points(margin)}. The effect that tasks are counted for is ${points(effect)}.`,
    Dollars:
      "As billed: the provider's own usage of every call, summaries among them, at the prices pi has for the model, or what the provider itself says a call cost.",
    Misses:
      "Calls that found less of the prompt in the cache than the call before had sent, by 1,024 tokens or more, and the tokens that were missed.",
    "Prompt, cached, output":
      "Tokens of all requests, the share of them that was read from the provider's cache, and tokens of the answers.",
    Refused: "Requests the provider would not take, most of them longer than the window.",
    "Tasks of one session":
      "hang together: a loss early on is felt later. From six sessions on the test is made over whole sessions, too.",
  };
  const entries = Object.entries(list).map(([term, text]) => `<dt>${term}</dt><dd>${text}</dd>`);
  return `<dl>${entries.join("\n")}</dl>`;
}

/** Text for HTML. */
export function escaped(text) {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
