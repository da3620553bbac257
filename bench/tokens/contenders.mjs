// The counters that are measured, each as a function that loads it for an encoding and gives what counts a text. All take
// special-token text as ordinary text, where they can.

export const CONTENDERS = {
  "pi-strata": async (name) => {
    const [{ countTokens }, { getEncoding }] = await Promise.all([
      import("../../index.js"),
      import("../../lib/tokens/index.js"),
    ]);
    const encoding = getEncoding(name);
    return name === "cl100k_base" ? countTokens : (text) => encoding.countTokens(text);
  },
  "ai-tokenizer": async (name) => {
    const [{ default: Tokenizer }, encoding] = await Promise.all([
      import("ai-tokenizer"),
      import(`ai-tokenizer/encoding/${name}`),
    ]);
    const tokenizer = new Tokenizer(encoding);
    // Its `count` throws on special-token text; with all of it allowed it is read as ordinary text.
    return (text) => tokenizer.encode(text, "all").length;
  },
  "gpt-tokenizer": async (name) => {
    const { countTokens } = await import(`gpt-tokenizer/encoding/${name}`);
    const ordinary = { disallowedSpecial: new Set() };
    return (text) => countTokens(text, ordinary);
  },
  tiktoken: async (name) => {
    const { get_encoding } = await import("tiktoken");
    const encoding = get_encoding(name);
    return (text) => encoding.encode_ordinary(text).length;
  },
  "js-tiktoken": async (name) => {
    const { getEncoding } = await import("js-tiktoken");
    const encoding = getEncoding(name);
    return (text) => encoding.encode(text, [], []).length;
  },
};

/** Loads a contender by name. */
export function load(name, encoding = "cl100k_base") {
  const loader = CONTENDERS[name];
  if (!loader)
    throw new Error(`no contender is called ${name}; there are ${Object.keys(CONTENDERS).join(", ")}`);
  return loader(encoding);
}
