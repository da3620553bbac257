// Strings that find mistakes in a tokenizer, from a seed: each kind aims at one thing that a pattern, a normaliser, added
// tokens or merges can get wrong.

import { dice } from "../transcripts.mjs";

const WORDS =
  "the of Hello HELLO camelCase snake_case don't I'LL we've 'S 'ſ naïve cafe\u0301 straße ﬁ Ⅷ ½ ² 12 123 1234 12345 ١٢٣ " +
  "3.14 0xFF 中文 你好世界 日本語テスト カタカナ・イ ひらがな゛ 한국어 русский العربية हिन्दी ไทย 😀 👩‍👩‍👧 \u200d \ufeff \u00a0 \u3000 \u2028 " +
  "\u0085 // /* */ ``` === ---- ..... ## <a> </div> <| |> {{}} http://x.y/z?a=b&c e\u0301\u0323 \u0344 \u1e9b\u0323 Å \u212b \u0958 가 " +
  "\u1100\u1161 〇 々 ⺀ 〡 ゛ \ufffd ꥠ 𠀀 𝒳 ǅ \ud83d \udc00";
/** What stands between words, and what patterns tell apart. */
const GAPS = ["", "", " ", "  ", "\n", " \n ", "\r\n", "\t", ", "];
const KINDS = [..." \n\r\t'aA1!/s\u3000中\u0301\u0000"];
/** Blocks that every library knows alike: Unicode assigns characters that older ones do not know. */
const BLOCKS = [
  [0x20, 0x7f],
  [0x80, 0x530],
  [0x590, 0x700],
  [0x900, 0xa00],
  [0xe00, 0xe80],
  [0x1100, 0x1200],
  [0x1e00, 0x20a0],
  [0x2100, 0x2400],
  [0x2e80, 0x3100],
  [0x4e00, 0x9f00],
  [0xac00, 0xd7a4],
  [0xf900, 0xfb00],
  [0xff00, 0xffef],
  [0x1f300, 0x1f650],
  [0x20000, 0x2a000],
];

/** `count` strings, with the texts of `tokens` among their words. */
export function* strings(count, seed, tokens) {
  const below = dice(seed);
  const pick = (list) => list[below(list.length)];
  const repeat = (most, make) => Array.from({ length: 1 + below(most) }, make).join("");
  const words = WORDS.split(" ");
  const added = tokens.length === 0 ? words : tokens;
  const kinds = [
    () => repeat(30, () => character(below, pick)),
    () => repeat(60, () => String.fromCharCode(below(0x80))),
    () => repeat(12, () => pick(words) + pick(GAPS)),
    () => repeat(24, () => pick(KINDS)),
    () => pick(words).repeat(1 + below(60)),
    () => repeat(8, () => pick(pick([words, added])) + pick(GAPS)),
    () => repeat(200, () => pick([..."abcdefghijklmnopqrstuvwxyzABC0123456789+/"])),
    () => repeat(120, () => pick(words) + pick([" ", "", ", "])),
  ];
  for (let at = 0; at < count; at += 1) yield kinds[at % kinds.length]();
}

function character(below, pick) {
  for (;;) {
    const [first, end] = pick(BLOCKS);
    const text = String.fromCodePoint(first + below(end - first));
    if (/\p{Assigned}/u.test(text)) return text;
  }
}
