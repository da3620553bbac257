// Text by the token: made of words that are one token each, different for each seed, so that a test can say how large a
// message is. And the messages that hold it.

import { bash, branchSummary, call, image, result } from "../messages.mjs";
import { dice } from "../transcripts.mjs";

const WORDS =
  "time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work government number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city community name president team minute idea kid body information back parent face others level office door health person art war history party result change morning reason research girl guy moment air teacher force education".split(
    " ",
  );
const WORDS_PER_LINE = 14;
/** Words of which texts are cut: making each anew would take longer than all that is tested. */
const POOL_WORDS = 400_000;

let pool;

/** About so many cl100k tokens of text in lines. */
export function textOf(tokens, seed) {
  pool ??= madeOf(POOL_WORDS);
  const { text, ends } = pool;
  const from = dice(seed + 1)(POOL_WORDS - 1);
  let rest = Math.max(1, Math.round(tokens));
  let made = `n${seed}`;
  for (let at = from; rest > 0; at = 0) {
    const to = Math.min(at + rest, POOL_WORDS);
    made += text.slice(ends[at], ends[to]);
    rest -= to - at;
  }
  return made;
}

function madeOf(count) {
  const roll = dice(0);
  const ends = [0];
  let text = "";
  for (let at = 1; at <= count; at += 1) {
    text += (at % WORDS_PER_LINE === 0 ? "\n" : " ") + WORDS[roll(WORDS.length)];
    ends.push(text.length);
  }
  return { text, ends };
}

/** Messages one after the other, a second between them. */
export class Scribe {
  #made = 0;
  /** Simulated time. */
  now = 1_700_000_000_000;
  model = "model-a";
  api = "anthropic-messages";

  /** Prompt and tools, as pi has them in the list from 0.86 on. */
  system(tokens) {
    const [content, description] = [textOf(tokens / 2, this.#seed()), textOf(tokens / 2, this.#seed())];
    return { role: "system", content, toolsAdded: [{ name: "read", description }], timestamp: this.#tick() };
  }

  user(tokens) {
    return { role: "user", content: textOf(tokens, this.#seed()), timestamp: this.#tick() };
  }

  /** An assistant message that asks for `calls` tools, with what more it holds. */
  asks(calls = 1, { thinking = 0, says = 0, usage, ...more } = {}) {
    const content = [];
    if (thinking > 0)
      content.push({ type: "thinking", thinking: textOf(thinking, this.#seed()), thinkingSignature: "c2ln" });
    if (says > 0) content.push({ type: "text", text: textOf(says, this.#seed()) });
    for (let at = 0; at < calls; at += 1) {
      const seed = this.#seed();
      content.push(call(`call_${seed}`, { arguments: { path: `src/file${seed}.rs` } }));
    }
    return this.#assistant(content, { stopReason: calls > 0 ? "toolUse" : "stop", usage, ...more });
  }

  /** An answer that ends a turn. */
  says(tokens, more) {
    return this.asks(0, { says: tokens, ...more });
  }

  /** One result of so many tokens for each call of `assistant`. */
  results(assistant, tokens, { images = 0 } = {}) {
    const calls = assistant.content.filter(({ type }) => type === "toolCall");
    return calls.map(({ id, name }) => {
      const content = [{ type: "text", text: textOf(tokens, this.#seed()) }];
      for (let at = 0; at < images; at += 1) content.push({ ...image });
      return result(id, content, { toolName: name, timestamp: this.#tick() });
    });
  }

  summary(tokens, tokensBefore) {
    const summary = textOf(tokens, this.#seed());
    return { role: "compactionSummary", summary, tokensBefore, timestamp: this.#tick() };
  }

  branchSummary(tokens) {
    return { ...branchSummary, summary: textOf(tokens, this.#seed()), timestamp: this.#tick() };
  }

  bash(tokens, excludeFromContext) {
    const output = textOf(tokens, this.#seed());
    return { ...bash, command: "make test", output, excludeFromContext, timestamp: this.#tick() };
  }

  #assistant(content, more) {
    const { api, model } = this;
    return { role: "assistant", content, api, provider: "p", model, ...more, timestamp: this.#tick() };
  }

  #seed() {
    return this.#made++;
  }

  #tick() {
    this.now += 1000;
    return this.now;
  }
}
