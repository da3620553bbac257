// What only a live page has: a copy of the host's record, fetched again after each change, and the figures that the provider reports.

import { change, dollars, el, percent, quantile, tile, whole } from "./dom.mjs";

const PAUSE_MS = 200;

export class Live {
  isConnected = false;
  calls = [];
  messages = { role: [], tool: [], tokens: [], gone: {} };
  stretches = [];
  changes = [];
  /** Number of the newest change known; the host answers null until there is a newer one. */
  revision = -1;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
    this.#ask();
  }

  /** `{ role, name, text, sent }` of a message; null if the host no longer holds it. */
  async text(number) {
    const response = await fetch(`message?number=${number}`);
    return response.json();
  }

  async #ask() {
    const wasConnected = this.isConnected;
    const answer = await fetch(`state?revision=${this.revision}`)
      .then((response) => response.json())
      .catch(() => undefined);
    this.isConnected = answer !== undefined;
    Object.assign(this, answer);
    setTimeout(() => this.#ask(), PAUSE_MS);
    if (answer || this.isConnected !== wasConnected) this.#onChange();
  }
}

export function liveStatus({ isConnected, calls, messages }, words) {
  const dot = el("span", { class: isConnected ? "dot on" : "dot" }, isConnected ? words.live : words.lost);
  const said =
    calls.length === 0
      ? words.waiting
      : words.liveSubtitle({ calls: calls.length, messages: messages.role.length });
  return [dot, ` ${said}`];
}

/** The figures at a glance: of the chosen call, and of all calls that were answered. */
export function liveTiles({ calls }, number, words) {
  const { tokensBefore, tokensAfter } = calls[number - 1];
  const { contextWindow } = calls.at(-1);
  const answered = calls.filter(({ reported }) => reported > 0);
  const sum = (name) => answered.reduce((total, call) => total + call[name], 0);
  const figure = (name, value, ...notes) => tile(name, [el("b", {}, value)], notes);
  const without = `${words.withoutHook({ tokens: tokensBefore })} (${change(tokensBefore, tokensAfter)})`;
  const context = figure(
    words.context,
    whole(tokensAfter),
    words.ofTheWindow({ share: percent(tokensAfter / contextWindow), tokens: contextWindow }),
    // A number and its percent sign stay together.
    without.replaceAll(" %", "\u00a0%"),
  );
  if (answered.length === 0) return [context, figure(words.paid, words.none, words.unreported)];
  const causes = Object.keys(words.missCauses)
    .map((cause) => [cause, answered.filter(({ miss }) => miss === cause).length])
    .filter(([, count]) => count > 0);
  const misses = causes.reduce((total, [, count]) => total + count, 0);
  const errors = answered.map((call) => Math.abs(call.tokensAfter - call.reported) / call.reported);
  return [
    context,
    figure(words.predicted, percent(quantile(errors, 0.5)), words.predictedNote({ calls: answered.length })),
    figure(
      words.cacheHits,
      percent(sum("cacheRead") / sum("reported")),
      words.misses({ count: misses }),
      ...causes.map(([cause, count]) => `${whole(count)} × ${words.missCauses[cause]}`),
    ),
    paidTile(answered, figure, words),
  ];
}

/** Dollars of the calls that have a price; a dash where none has. Calls over the window without the hook saved none. */
function paidTile(answered, figure, words) {
  const priced = answered.filter(({ paid }) => Number.isFinite(paid));
  if (priced.length === 0) return figure(words.paid, words.none, words.unpriced);
  const paid = priced.reduce((sum, call) => sum + call.paid, 0);
  const compared = priced.filter(({ without }) => Number.isFinite(without));
  const saved = compared.reduce((sum, call) => sum + call.without - call.paid, 0);
  const notes = [
    saved >= 0 ? words.savedSoFar({ dollars: dollars(saved) }) : words.spent({ dollars: dollars(-saved) }),
  ];
  if (compared.length < priced.length)
    notes.push(words.uncompared({ calls: priced.length - compared.length }));
  return figure(words.paid, dollars(paid), ...notes);
}
