// Finds what one of our settings lost over a session, and why: for each blind edit, which message had shown the line last, by
// which rule it went, and how many calls before.

import { estimatesBy } from "../../__test__/support/recordings.mjs";
import { cacheOf } from "../../lib/cli/report/prices.mjs";
import hook from "../../lib/hook/hook.js";
import options from "../../lib/hook/options.js";
import { editsIn } from "../../lib/inspector/changes.js";
import { measure, ratesOf } from "./measure.mjs";
import { Versions } from "./versions.mjs";

const { Call, Hook, Layers } = hook;

/** `{ rates, losses }`; a loss is `{ call, lines, of, tool, action, why, callsBefore }`. */
export async function lossesOf(session, settings, setting) {
  const { contextWindow, prices } = setting;
  const estimates = await estimatesBy(session, setting);
  const given = { contextWindow, cache: cacheOf(prices), ...settings };
  const engine = new Hook(new Layers(options.checkHookOptions("bench", given)));
  const versions = new Versions();
  let last;
  const policy = async (messages) => {
    const call = new Call();
    const { edited, plan } = await engine.run(messages, call);
    call.end();
    last = plan;
    return edited;
  };
  const fates = new Map();
  const losses = [];
  const onCall = ({ call, numbers, lost }) => {
    const now = new Map(whole(last, numbers));
    for (const [number, fate] of now) {
      const { since } = sameFate(fates.get(number), fate) ? fates.get(number) : { since: call };
      fates.set(number, { ...fate, since });
    }
    for (const { lines, of } of lost) {
      const holder = numbers.findLast((number) =>
        lines.some((line) => versions.of(session.message(number)).lines.has(line)),
      );
      const fate = fates.get(holder) ?? { action: "?", why: "?", since: call };
      const { role, toolName } = session.message(holder) ?? {};
      losses.push({
        call,
        lines: lines.length,
        of,
        tool: role === "toolResult" ? toolName : `what the ${role} wrote`,
        action: fate.action,
        why: fate.why,
        callsBefore: call - fate.since,
      });
    }
  };
  const score = await measure(session, policy, { contextWindow, prices, estimates, onCall });
  return { rates: ratesOf(score), losses };
}

/** `[number, { action, why }]` of every message a plan edits, messages dropped side by side too. */
function* whole(plan, numbers) {
  for (const { index, count, action, reason: why } of editsIn(plan, numbers)) {
    for (let at = index; at < index + count; at += 1) yield [numbers[at], { action, why }];
  }
}

function sameFate(before, now) {
  return before?.action === now.action && before.why === now.why;
}

/** The session of each agent that a setting serves worst: the most blind edits, then the least recall. */
export async function worstOfEach(sessions, settings, setting) {
  const worst = new Map();
  for (const { name, messages } of sessions) {
    const { rates, losses } = await lossesOf(messages, settings, setting);
    const entry = { name, agent: agentOf(messages), rates, losses };
    const known = worst.get(entry.agent);
    if (known === undefined || isWorse(rates, known.rates)) worst.set(entry.agent, entry);
  }
  return Array.from(worst.values());
}

function isWorse(rates, than) {
  if (rates.blindEdits !== than.blindEdits) return rates.blindEdits > than.blindEdits;
  return rates.recall < than.recall;
}

/** The agent that recorded it: by the format, and where that says nothing by the models that answered. */
function agentOf(session) {
  const { format } = session;
  if (format !== "messages") return format;
  for (let number = 0; number < session.length; number += 1) {
    const { role, provider, model } = session.message(number);
    if (role === "assistant") return `${provider ?? "?"} ${model ?? "?"}`;
  }
  return "?";
}

/** The worst sessions as text: a line of rates each, and their losses by rule. */
export function worstText(worst) {
  return worst
    .map(({ name, agent, rates, losses }) => {
      const percent = (share) => `${(100 * share).toFixed(1)} %`;
      const head =
        `${agent}: ${name}: blind ${percent(rates.blindEdits)} of ${rates.edits}, ` +
        `recall ${percent(rates.recall)}, tool recall ${percent(rates.toolRecall)}`;
      return [head, ...losses.map(lossText)].join("\n  ");
    })
    .join("\n\n");
}

function lossText({ call, lines, of, tool, action, why, callsBefore }) {
  return `call ${call}: ${lines} of ${of} lines; last in ${tool}, gone ${callsBefore} calls before (${action}: ${why})`;
}
