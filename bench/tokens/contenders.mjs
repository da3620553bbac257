// The counters and encoders that are measured, each as a function that loads it for an encoding: `count` takes a text,
// `encode` gives its tokens, `typed` gives them as an array of 32-bit numbers, `decode` gives their text.
// All take special-token text as ordinary text, where they can.

export const CONTENDERS = {
  "pi-strata": async (name) => {
    const [{ countTokens }, { getEncoding }] = await Promise.all([
      import("../../index.js"),
      import("../../lib/tokens/index.js"),
    ]);
    const encoding = getEncoding(name);
    return {
      count: name === "cl100k_base" ? countTokens : (text) => encoding.countTokens(text),
      encode: (text) => encoding.encode(text),
      typed: (text) => encoding.encodeTyped(text),
      decode: (tokens) => encoding.decode(tokens),
    };
  },
  "ai-tokenizer": async (name) => {
    const [{ default: Tokenizer }, encoding] = await Promise.all([
      import("ai-tokenizer"),
      import(`ai-tokenizer/encoding/${name}`),
    ]);
    const tokenizer = new Tokenizer(encoding);
    // Its `count` throws on special-token text; with all of it allowed it is read as ordinary text.
    const encode = (text) => tokenizer.encode(text, "all");
    return { count: (text) => encode(text).length, encode, decode: (tokens) => tokenizer.decode(tokens) };
  },
  "gpt-tokenizer": async (name) => {
    const { countTokens, encode, decode } = await import(`gpt-tokenizer/encoding/${name}`);
    const ordinary = { disallowedSpecial: new Set() };
    return { count: (text) => countTokens(text, ordinary), encode: (text) => encode(text, ordinary), decode };
  },
  tiktoken: async (name) => {
    const { get_encoding } = await import("tiktoken");
    const encoding = get_encoding(name);
    const utf8 = new TextDecoder();
    return {
      count: (text) => encoding.encode_ordinary(text).length,
      typed: (text) => encoding.encode_ordinary(text),
      decode: (tokens) => utf8.decode(encoding.decode(tokens)),
    };
  },
  "js-tiktoken": async (name) => {
    const { getEncoding } = await import("js-tiktoken");
    const encoding = getEncoding(name);
    const encode = (text) => encoding.encode(text, [], []);
    return { count: (text) => encode(text).length, encode, decode: (tokens) => encoding.decode(tokens) };
  },
};

/** Loads a contender by name. */
export function load(name, encoding = "cl100k_base") {
  const loader = CONTENDERS[name];
  if (!loader)
    throw new Error(`no contender is called ${name}; there are ${Object.keys(CONTENDERS).join(", ")}`);
  return loader(encoding);
}
