// Generated conversations in the closed loop: one seed, one host with its habits, one provider with its own. Sizes follow
// the window, so that every water is reached.

import { createTransformContext } from "../../../index.js";
import { dice } from "../transcripts.mjs";
import { compacted, contextTokens } from "./compaction.mjs";
import { Invariants } from "./invariants.mjs";
import { ABSURD, HARMLESS, LIES } from "./lies.mjs";
import { Loop } from "./loop.mjs";
import { Provider } from "./provider.mjs";
import { commonRun } from "./same.mjs";
import { Scribe, textOf } from "./texts.mjs";

const WINDOWS = [8000, 12_000, 16_000, 32_000, 64_000, 128_000, 200_000];
const BASE_SHARES = [0, 0.02, 0.1, 0.3];
const SCALES = [1, 1.1, 1.27, 1.4, 1.5];
/** Scales that no real provider has, but one may yet. */
const ODD_SCALES = [0.7, 3];
const IMAGE_TOKENS = 1200;
/**
 * The host starts anew every so many calls: a new hook must send the same. But not after a compaction or a branch, nor where
 * usage comes late: a hook that has seen what was before knows more. Nor where no usage was ever reported: a hook then edits at
 * its first call on a list.
 */
const RESTART_EVERY = 20;
/** Longer than any cache lives. */
const PAUSE_MS = 3_600_000;

/**
 * One conversation of `calls` calls: `{ calls, broken }`, what is broken naming its seed and call. A host that `switches` goes
 * on with models of other windows and encodings.
 */
export async function playSession(seed, calls, { switches = false } = {}) {
  const session = new Session(seed, switches);
  const broken = [];
  for (let call = 0; call < calls; call += 1) {
    const found = await session.step();
    broken.push(
      ...found.map((what) => `seed ${seed}, call ${call + 1}: ${what}; ${JSON.stringify(session.habits)}`),
    );
  }
  return { calls, broken };
}

class Session {
  #roll;
  #scribe = new Scribe();
  #provider;
  #loop;
  #invariants;
  #options;
  /** Tokens of prompt and tools that stand in the list. */
  #systemTokens;
  #window;
  #compactsAt;
  #isLate;
  #isTruthful;
  /** True if the host changes to models of other windows, which may count by another encoding. */
  #switches;
  /** Nothing was changed but by adding to the list. */
  #hasOnlyGrown;
  /** pi compacts after a refusal. */
  #wasRefused = false;
  /** A usage that comes late: the message it belongs to, and what it says. */
  #owed;

  constructor(seed, switches) {
    const roll = dice(seed);
    this.#roll = roll;
    const pick = (items) => items[roll(items.length)];
    const window = pick(WINDOWS);
    const isOdd = roll(12) === 0;
    const [scale, otherScale] = [pick(isOdd ? ODD_SCALES : SCALES), pick(SCALES)];
    const ownTokens = Math.round(window * pick(BASE_SHARES));
    this.#systemTokens = roll(6) === 0 ? ownTokens : 0;
    const basePrompt = ownTokens - this.#systemTokens;
    const lie = roll(5) < 3 ? "none" : pick(Object.keys(LIES));
    const schedule = pick(["everyCall", "sticky", "sticky", "auto"]);
    const cache = pick(["prefix", "prefix", "breakpoint", "none"]);
    const clones = roll(5) === 0;
    this.#switches = switches;
    this.#window = window;
    this.#compactsAt = roll(3) === 0 ? window * pick([0.3, 0.5]) : Number.POSITIVE_INFINITY;
    this.#isLate = roll(12) === 0;
    this.#hasOnlyGrown = !this.#isLate;
    const rates = (scale, basePrompt) => ({
      scale,
      basePrompt: Math.round(basePrompt),
      imageTokens: Math.round(IMAGE_TOKENS * scale),
    });
    const models = { [this.#otherModel]: rates(otherScale, 1.1 * basePrompt) };
    this.#provider = new Provider({ contextWindow: window, cache, ...rates(scale, basePrompt), models });
    const tell = LIES[lie]();
    this.#options = { contextWindow: () => this.#provider.contextWindow, schedule };
    this.#loop = new Loop(this.#provider, this.#options, {
      tell: (usage, answer) => (this.#isLate ? this.#owe(tell(usage), answer) : tell(usage)),
      view: clones ? structuredClone : (messages) => messages,
      endsAtRefusal: true,
    });
    this.#isTruthful = HARMLESS.has(lie) && !isOdd && !this.#isLate;
    const trust = { isTruthful: this.#isTruthful, isHonest: lie === "none" };
    this.#invariants = new Invariants(this.#loop, trust);
    const [late, system] = [this.#isLate, this.#systemTokens];
    const own = { window, scale, basePrompt, lie, schedule, cache, clones };
    this.habits = { ...own, switches, late, system, edits: 0 };
  }

  /** The host's next moves, and a call. */
  async step() {
    const { messages } = this.#loop;
    if (messages.length === 0 && this.#systemTokens > 0)
      messages.push(this.#scribe.system(this.#systemTokens));
    if (["assistant", "system", undefined].includes(messages.at(-1)?.role)) this.#asks();
    this.#mayCompact();
    this.#mayChange();
    this.#maySwitch();
    const answer = this.#answer();
    const owed = this.#owed;
    const record = await this.#loop.call(answer);
    const broken = this.#invariants.check(record);
    this.#wasRefused = record.isRefused;
    if (record.call % RESTART_EVERY === 0 && this.#hasOnlyGrown && record.given.some(isReported))
      broken.push(...(await this.#restarted(record)));
    if (owed !== undefined) owed.message.usage = owed.usage;
    const added = this.#loop.messages.at(-1);
    if (this.#owed !== undefined && this.#owed !== owed) this.#owed.message = added;
    if (added.stopReason === "toolUse") this.#answersCalls(added);
    return broken;
  }

  async #restarted({ given, sent }) {
    const again = await createTransformContext(this.#options)(structuredClone(given));
    const same = commonRun(again, sent);
    return same === sent.length && same === again.length
      ? []
      : [`restart: another hook sends other bytes from message ${same} on`];
  }

  #owe(usage) {
    this.#owed = { usage, message: undefined };
    return undefined;
  }

  /** Mostly small, sometimes a good part of the window. */
  #size() {
    const unit = Math.round(this.#window / 100);
    switch (this.#roll(20)) {
      case 0:
        return 10 * unit + this.#roll(12 * unit);
      case 1:
      case 2:
        return 4 * unit;
      default:
        return 1 + this.#roll(2 * unit);
    }
  }

  /** Rarely, the host goes on with a model of another window. */
  #maySwitch() {
    if (!this.#switches || this.#roll(20) > 0) return;
    const windows = [this.#window / 2, this.#window, 2 * this.#window];
    this.#provider.contextWindow = windows[this.#roll(windows.length)];
    this.#hasOnlyGrown = false;
  }

  get #otherModel() {
    return this.#switches ? "gpt-5-mini" : "model-b";
  }

  #asks() {
    const isPaste = this.#roll(25) === 0;
    this.#loop.messages.push(this.#scribe.user(isPaste ? this.#size() * 4 : 5 + this.#roll(200)));
  }

  #answer() {
    const roll = this.#roll;
    if (roll(30) === 0) this.#scribe.model = this.#scribe.model === "model-a" ? this.#otherModel : "model-a";
    if (roll(15) === 0) this.#scribe.now += PAUSE_MS;
    if (roll(30) === 0)
      return this.#scribe.asks(roll(2), { says: 9, stopReason: roll(2) === 0 ? "error" : "aborted" });
    const thinking = roll(3) === 0 ? 1 + roll(200) : 0;
    if (roll(6) === 0) return this.#scribe.says(5 + roll(300), { thinking });
    return this.#scribe.asks(roll(8) === 0 ? 2 + roll(3) : 1, { thinking, says: roll(3) * 20 });
  }

  #answersCalls(assistant) {
    const images = this.#roll(25) === 0 ? 1 : 0;
    for (const result of this.#scribe.results(assistant, 0, { images })) {
      result.content[0].text = textOf(this.#size(), this.#roll(1e6));
      this.#loop.messages.push(result);
    }
    const { messages } = this.#loop;
    if (this.#roll(40) === 0) messages.push(this.#scribe.user(20));
    if (this.#roll(40) === 0) messages.push(this.#scribe.bash(this.#size(), this.#roll(2) === 0));
  }

  #mayCompact() {
    const { messages } = this.#loop;
    const tokens = contextTokens(messages);
    if (!(this.#wasRefused || tokens > this.#compactsAt)) return;
    const summary = this.#scribe.summary(100 + this.#roll(400), tokens);
    const isBackdated = this.#roll(4) === 0 && !this.#isTruthful;
    // What was sent in another encoding is not known in this one: then only the time tells that an answer is older.
    if (isBackdated && !this.#switches) summary.timestamp = messages[0].timestamp;
    const system = messages.filter(({ role }) => role === "system");
    const others = messages.slice(system.length);
    this.#loop.messages = [...system, ...compacted(others, this.#window / 10, summary)];
    this.#hasOnlyGrown = false;
    this.#invariants.hostChanged();
  }

  /** Rarely, the host goes back to an earlier question, or edits what was there. */
  #mayChange() {
    if (this.#loop.messages.length < 8) return;
    const move = this.#roll(40);
    if (move === 0) this.#branch();
    else if (move === 1) this.#edit();
  }

  #branch() {
    const { messages } = this.#loop;
    const questions = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
    const at = questions[this.#roll(questions.length)];
    this.#loop.messages = messages.slice(0, at);
    if (this.#roll(2) === 0) this.#loop.messages.push(this.#scribe.branchSummary(100));
    this.#asks();
    this.#hasOnlyGrown = false;
    this.#invariants.hostChanged({ isNew: false });
  }

  #edit() {
    const { messages } = this.#loop;
    const results = messages.filter(({ role }) => role === "toolResult");
    if (results.length === 0) return;
    const result = results[this.#roll(results.length)];
    result.content[0].text = textOf(this.#size(), this.#roll(1e6));
    this.habits.edits += 1;
    const summary = messages.find(({ role }) => role === "compactionSummary");
    if (summary !== undefined) {
      summary.summary = textOf(300, this.#roll(1e6));
      this.#provider.forget(summary);
    }
    this.#provider.forget(result);
    this.#hasOnlyGrown = false;
    this.#invariants.hostChanged({ isNew: false });
  }
}

/** True for an answer whose usage may tell the size of its prompt. */
function isReported({ role, usage }) {
  const { input = 0, cacheRead = 0, cacheWrite = 0 } = usage ?? {};
  const tokens = input + cacheRead + cacheWrite;
  return role === "assistant" && tokens > 0 && tokens < ABSURD;
}
