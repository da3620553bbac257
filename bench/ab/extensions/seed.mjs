// An extension of pi that adds the seed of the session to requests of APIs that take one.

/** APIs with a `seed` in the request; Anthropic's and the Responses API have none. */
const WITH_SEED = new Set(["openai-completions"]);

export default function seed(pi) {
  pi.on("before_provider_request", ({ payload }, { model }) => {
    if (!WITH_SEED.has(model?.api)) return undefined;
    return { ...payload, seed: Number(process.env.STRATA_BENCH_SEED) };
  });
}
