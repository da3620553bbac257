// Reads the usage of a streamed answer, in the words of the four families of APIs, and puts a price to it.

const PER_MILLION = 1e-6;

/**
 * `{ usage: { input, output, cacheRead, cacheWrite }, dollars }` of a stream of server-sent events; `dollars` only where
 * the provider states them. Undefined usage where the stream reports none, as one that was cut off.
 */
export function usageOf(stream) {
  let usage;
  let dollars;
  for (const event of eventsIn(stream)) {
    const reported = event.usage ?? event.message?.usage ?? event.response?.usage ?? event.usageMetadata;
    if (!reported) continue;
    usage = { ...usage, ...normalised(reported) };
    dollars = reported.cost ?? dollars;
  }
  return { usage, ...(typeof dollars === "number" && { dollars }) };
}

function eventsIn(stream) {
  return stream.split("\n").flatMap((line) => {
    if (!line.startsWith("data:") || !/"usage/.test(line)) return [];
    try {
      return [JSON.parse(line.slice("data:".length))];
    } catch {
      return [];
    }
  });
}

function normalised(reported) {
  if (reported.prompt_tokens !== undefined) {
    const cacheRead = reported.prompt_tokens_details?.cached_tokens ?? reported.prompt_cache_hit_tokens ?? 0;
    const { prompt_tokens: prompt, completion_tokens: output = 0 } = reported;
    return { input: prompt - cacheRead, output, cacheRead, cacheWrite: 0 };
  }
  if (reported.promptTokenCount !== undefined) {
    const { promptTokenCount: prompt, cachedContentTokenCount: cacheRead = 0 } = reported;
    const output = (reported.candidatesTokenCount ?? 0) + (reported.thoughtsTokenCount ?? 0);
    return { input: prompt - cacheRead, output, cacheRead, cacheWrite: 0 };
  }
  if (reported.input_tokens_details !== undefined) {
    const cacheRead = reported.input_tokens_details.cached_tokens ?? 0;
    return {
      input: reported.input_tokens - cacheRead,
      output: reported.output_tokens,
      cacheRead,
      cacheWrite: 0,
    };
  }
  // Anthropic's last event repeats only some of the counts of its first.
  const named = {
    input: reported.input_tokens,
    output: reported.output_tokens,
    cacheRead: reported.cache_read_input_tokens,
    cacheWrite: reported.cache_creation_input_tokens,
  };
  return Object.fromEntries(Object.entries(named).filter(([, tokens]) => typeof tokens === "number"));
}

/** Dollars of a call, by what the provider says it cost or by `prices` in dollars per million tokens, as pi has them. */
export function dollarsOf({ usage, dollars }, prices) {
  if (dollars !== undefined) return dollars;
  if (usage === undefined) return 0;
  const kinds = ["input", "output", "cacheRead", "cacheWrite"];
  return kinds.reduce((sum, kind) => sum + PER_MILLION * (usage[kind] ?? 0) * (prices[kind] ?? 0), 0);
}

/** Tokens of the prompt of a call. */
export function promptOf({ usage }) {
  return usage === undefined ? 0 : (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
}
