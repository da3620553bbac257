// What was decided in one conversation, in a few figures and digests that fit into a review.

import { createHash } from "node:crypto";

/** Figures count to so many digits: the last bits of a power differ between C libraries. */
const DIGITS = 6;
const DIGEST_CHARS = 16;
/** No decision: how long it took. */
const TIMES = new Set(["blockedMs", "totalMs"]);

/** Keeps the minutes of one conversation's calls. */
export class Minutes {
  #sent = createHash("sha256");
  #events = createHash("sha256");
  #told = {};
  #reasons = {};
  #misses = {};
  #figures = { calls: 0, tokensSent: 0, tokensRead: 0, refused: 0 };

  /** @param record one of `Loop` */
  note(record) {
    const { sent, unchanged, prompt, readTokens, isRefused, reason, events } = record;
    const figures = this.#figures;
    figures.calls += 1;
    figures.tokensSent += prompt;
    figures.tokensRead += readTokens;
    figures.refused += Number(isRefused);
    this.#sent.update(`${unchanged} ${sent.length} ${plain(sent.slice(unchanged))}\n`);
    this.#events.update(`${plain(events)}\n`);
    this.#reasons[reason] = (this.#reasons[reason] ?? 0) + 1;
    for (const { type, cause, tokens, tokensSaved } of events) {
      if (type === "transformed") continue;
      this.#told[type] = (this.#told[type] ?? 0) + (tokensSaved ?? 1);
      if (type === "cacheMiss") this.#misses[cause] = (this.#misses[cause] ?? 0) + tokens;
    }
  }

  /** All of it; `more` is added. */
  close(more = {}) {
    return rounded({
      ...this.#figures,
      told: this.#told,
      missed: this.#misses,
      reasons: this.#reasons,
      sent: this.#sent.digest("hex").slice(0, DIGEST_CHARS),
      events: this.#events.digest("hex").slice(0, DIGEST_CHARS),
      ...more,
    });
  }
}

/** A digest of any value. */
export function digest(value) {
  return createHash("sha256").update(plain(value)).digest("hex").slice(0, DIGEST_CHARS);
}

function plain(value) {
  return (
    JSON.stringify(value, (key, of) => {
      if (TIMES.has(key)) return undefined;
      if (typeof of === "bigint") return `${of}n`;
      return typeof of === "number" ? roundedNumber(of) : of;
    }) ?? "undefined"
  );
}

function roundedNumber(number) {
  if (Number.isInteger(number)) return number;
  return Number.isFinite(number) ? Number(number.toPrecision(DIGITS)) : String(number);
}

function rounded(value) {
  return JSON.parse(plain(value));
}
