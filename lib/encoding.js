// js-tiktoken's surface over the native encoder, so that replacing js-tiktoken is one changed import.
"use strict";

const { native } = require("./native.js");

const NAME = "cl100k_base";

/** The special tokens of cl100k_base, as OpenAI's tiktoken defines them. */
const SPECIAL_TOKENS = new Map([
  ["<|endoftext|>", 100257],
  ["<|fim_prefix|>", 100258],
  ["<|fim_middle|>", 100259],
  ["<|fim_suffix|>", 100260],
  ["<|endofprompt|>", 100276],
]);
const SPECIAL_TEXTS = new Map([...SPECIAL_TOKENS].map(([text, token]) => [token, text]));

function getEncoding(name) {
  if (name !== NAME) {
    throw new RangeError(`getEncoding: there is no encoding ${String(name)} here; the only one is ${NAME}`);
  }
  return ENCODING;
}

const ENCODING = Object.freeze({
  /** Special-token text is ordinary text unless `allowedSpecial` names it or `disallowedSpecial` forbids it. */
  encode(text, allowedSpecial = [], disallowedSpecial = []) {
    const allowed = specials("allowedSpecial", allowedSpecial);
    const forbidden = specials("disallowedSpecial", disallowedSpecial).filter(
      (token) => !allowed.includes(token),
    );
    const found = forbidden.find((special) => text.includes(special));
    if (found !== undefined) throw new Error(`encode: the text holds the forbidden special token ${found}`);
    return splitAt(text, allowed).flatMap((part) => SPECIAL_TOKENS.get(part) ?? native().encode(part));
  },
  decode(tokens) {
    return runs(tokens).map(decodeRun).join("");
  },
  countTokens(text) {
    return native().countText(text);
  },
});

function specials(option, value) {
  if (value === "all") return [...SPECIAL_TOKENS.keys()];
  if (!Array.isArray(value)) throw new TypeError(`encode: ${option} must be an array of strings or "all"`);
  return value.filter((text) => SPECIAL_TOKENS.has(text));
}

/** `text` cut around the given specials, which stay as parts of their own. */
function splitAt(text, allowed) {
  if (allowed.length === 0) return [text];
  const pattern = new RegExp(`(${allowed.map((special) => special.replace(/[|]/g, "\\|")).join("|")})`);
  return text.split(pattern).filter((part) => part !== "");
}

/** Special tokens alone, the ordinary ones between them together: a character may be spread over several tokens. */
function runs(tokens) {
  const parts = [[]];
  for (const token of tokens) {
    if (SPECIAL_TEXTS.has(token)) parts.push(token, []);
    else parts.at(-1).push(token);
  }
  return parts;
}

function decodeRun(run) {
  return Array.isArray(run) ? native().decode(run) : SPECIAL_TEXTS.get(run);
}

module.exports = { getEncoding };
