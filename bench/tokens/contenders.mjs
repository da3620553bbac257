// The counters that are measured, each as a function that loads it and gives back text => tokens.
// All count special-token text as ordinary text, where they can.

export const CONTENDERS = {
  "pi-strata": async () => {
    const { default: strata } = await import("../../index.js");
    return strata.countTokens;
  },
  "ai-tokenizer": async () => {
    const [{ default: Tokenizer }, encoding] = await Promise.all([
      import("ai-tokenizer"),
      import("ai-tokenizer/encoding/cl100k_base"),
    ]);
    const tokenizer = new Tokenizer(encoding);
    // Its `count` throws on special-token text; with all of it allowed it is read as ordinary text.
    return (text) => tokenizer.encode(text, "all").length;
  },
  "gpt-tokenizer": async () => {
    const { countTokens } = await import("gpt-tokenizer/encoding/cl100k_base");
    const ordinary = { disallowedSpecial: new Set() };
    return (text) => countTokens(text, ordinary);
  },
  tiktoken: async () => {
    const { get_encoding } = await import("tiktoken");
    const encoding = get_encoding("cl100k_base");
    return (text) => encoding.encode_ordinary(text).length;
  },
  "js-tiktoken": async () => {
    const { getEncoding } = await import("js-tiktoken");
    const encoding = getEncoding("cl100k_base");
    return (text) => encoding.encode(text, [], []).length;
  },
};

/** Loads a contender by name. */
export function load(name) {
  const loader = CONTENDERS[name];
  if (!loader)
    throw new Error(`no contender is called ${name}; there are ${Object.keys(CONTENDERS).join(", ")}`);
  return loader();
}
