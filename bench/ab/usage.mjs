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
  const { prompt_tokens: chat, promptTokenCount: google, input_tokens_details: details } = reported;
  const inPrompt = (prompt, cacheRead = 0, output = 0) => {
    return { input: prompt - cacheRead, output, cacheRead, cacheWrite: 0 };
  };
  if (chat !== undefined) {
    const cached = reported.prompt_tokens_details?.cached_tokens ?? reported.prompt_cache_hit_tokens;
    return inPrompt(chat, cached, reported.completion_tokens);
  }
  if (google !== undefined) {
    const { cachedContentTokenCount: cached, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = reported;
    return inPrompt(google, cached, candidatesTokenCount + thoughtsTokenCount);
  }
  if (details !== undefined)
    return inPrompt(reported.input_tokens, details.cached_tokens, reported.output_tokens);
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
