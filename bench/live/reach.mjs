// Sessions × windows × base prompts × scales × schedules in the closed loop, one row for each window and schedule.

import { compacted, contextTokens } from "../../__test__/support/live/compaction.mjs";
import { Judge } from "../../__test__/support/live/judge.mjs";
import { LIES } from "../../__test__/support/live/lies.mjs";
import { Loop, play } from "../../__test__/support/live/loop.mjs";
import { Provider } from "../../__test__/support/live/provider.mjs";
import { Scribe } from "../../__test__/support/live/texts.mjs";

const WINDOWS = [12_000, 32_000, 64_000, 128_000, 200_000, 1_000_000];
const BASE_PROMPTS = [2000, 10_000, 20_000, 30_000];
/** A window of which prompt and tools take more is no use to anybody. */
const MOST_BASE_SHARE = 0.7;
const SCALES = [1, 1.27, 1.5];
const SCHEDULES = ["everyCall", "sticky"];

/** Shares of the window at which the host compacts, and what it keeps: pi's are 0.92 and 0.1 of 200 000 tokens. */
const COMPACT_SHARE = 0.4;
const KEEP_SHARE = 0.1;
const SUMMARY_TOKENS = 800;

/** Rows of the sessions as they grow. */
export function reachTable(sessions) {
  return table(sessions, BASE_PROMPTS, () => undefined);
}

/** The same with a host that compacts. */
export function compactedTable(sessions) {
  return table(sessions, [2000, 10_000], compaction);
}

/** Providers whose reports are not so, or that count as none does: one row for each. */
export async function badReportsTable(sessions) {
  const odd = { "counts 3 × cl100k": { scale: 3 }, "counts 0.7 × cl100k": { scale: 0.7 } };
  const lies = Object.keys(LIES).filter((name) => name !== "none");
  const rows = [];
  for (const reports of [...lies, ...Object.keys(odd)]) {
    const score = new Score();
    for (const { recording } of sessions)
      for (const contextWindow of [32_000, 200_000])
        for (const schedule of SCHEDULES) {
          const settings = { contextWindow, basePrompt: 8000, ...odd[reports] };
          await score.add(recording, settings, schedule, () => undefined, LIES[reports]?.());
        }
    rows.push({ reports, ...score.row() });
  }
  return rows;
}

async function table(sessions, basePrompts, hostOf) {
  const rows = [];
  for (const contextWindow of WINDOWS) {
    const fitting = basePrompts.filter((tokens) => tokens <= MOST_BASE_SHARE * contextWindow);
    for (const schedule of SCHEDULES) {
      const score = new Score();
      for (const { recording } of sessions)
        for (const basePrompt of fitting)
          for (const scale of SCALES)
            await score.add(recording, { contextWindow, basePrompt, scale }, schedule, hostOf);
      rows.push({ window: contextWindow, schedule, ...score.row() });
    }
  }
  return rows;
}

/** A host that compacts before a call when the last usage passed its threshold. */
function compaction(loop, judge, contextWindow) {
  const scribe = new Scribe();
  return () => {
    const tokens = contextTokens(loop.messages);
    if (tokens < COMPACT_SHARE * contextWindow) return false;
    // Recorded answers follow at once: a summary is no newer than they are.
    const summary = {
      ...scribe.summary(SUMMARY_TOKENS, tokens),
      timestamp: loop.messages.at(-1).timestamp ?? 0,
    };
    loop.messages = compacted(loop.messages, KEEP_SHARE * contextWindow, summary);
    judge.hostChanged();
    return true;
  };
}

/** True if the provider's report of a call says what was sent. */
function isTrue({ usage, prompt }) {
  return usage !== undefined && usage.input + usage.cacheRead + usage.cacheWrite === prompt;
}

/** Sums over conversations. */
class Score {
  #calls = 0;
  #compactions = 0;
  #over = 0;
  #unreported = 0;
  #unforeseen = 0;
  #changedCalls = 0;
  #changed = 0;
  #lostCalls = 0;
  #lost = 0;
  #errors = [];

  async add(recording, settings, schedule, hostOf, tell) {
    const loop = new Loop(new Provider(settings), { schedule }, { tell });
    const judge = new Judge(loop);
    const host = hostOf(loop, judge, settings.contextWindow);
    let hasReported = false;
    const beforeCall = () => {
      if (host?.()) this.#compactions += 1;
    };
    const onChange = () => judge.hostChanged();
    for await (const record of play(recording, loop, { beforeCall, onChange })) {
      if (record.failure !== undefined) throw new Error(`call ${record.call}: ${record.failure}`);
      this.#take(judge.look(record), hasReported);
      hasReported ||= isTrue(record);
    }
  }

  #take({ error, isTaught, isOver, isUnreported, changed, lost }, hasReported) {
    this.#calls += 1;
    this.#over += Number(isOver);
    if (isUnreported && hasReported) this.#unreported += 1;
    if (isUnreported && !hasReported) this.#unforeseen += 1;
    this.#changed += changed;
    this.#changedCalls += Number(changed > 0);
    this.#lost += lost;
    this.#lostCalls += Number(lost > 0);
    if (isTaught) this.#errors.push(Math.abs(error));
  }

  row() {
    const errors = this.#errors.sort((a, b) => a - b);
    const percentAt = (share) => {
      const error = errors[Math.min(errors.length - 1, Math.floor(share * errors.length))] ?? 0;
      return Number((100 * error).toFixed(3));
    };
    return {
      calls: this.#calls,
      compactions: this.#compactions,
      "over the window": this.#over,
      unreported: this.#unreported,
      "before any report": this.#unforeseen,
      "error p50 %": percentAt(0.5),
      "p95 %": percentAt(0.95),
      "worst %": percentAt(1),
      "over 15 %": errors.filter((error) => error > 0.15).length,
      "frozen changed, calls": this.#changedCalls,
      messages: this.#changed,
      "lost, calls": this.#lostCalls,
      "lost messages": this.#lost,
    };
  }
}
