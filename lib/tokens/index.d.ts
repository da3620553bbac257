/**
 * `pi-strata/tokens`: encodings with js-tiktoken's calls, and chats.
 * @module tokens
 */

import type { ChatMessage, CountOptions, EncodingName, TiktokenEncoding } from "../../index.js";

export type { ChatMessage, CountOptions, EncodingName, TiktokenEncoding } from "../../index.js";

/**
 * Tokens of a chat's prompt, as OpenAI's cookbook publishes the rule: 3 around each message, 1 for a name, 3 for the
 * beginning of the answer. By o200k_base where nothing else is said.
 * @throws TypeError for a message without a text.
 * @example countChatTokens([{ role: "user", content: "hi" }], { model: "gpt-4o" }) // 8
 */
export function countChatTokens(messages: ChatMessage[], options?: CountOptions): number;

/**
 * Tokens of a chat's prompt with its marks, ready for the answer: gpt-tokenizer's call. A name takes the role's place.
 * @throws RangeError for an encoding without chats (p50k_base, p50k_edit, r50k_base).
 * @example encodeChat([{ role: "user", content: "hi" }], { model: "gpt-4o" }).length // 8
 */
export function encodeChat(messages: ChatMessage[], options?: CountOptions | string): number[];

/**
 * An encoder, with js-tiktoken's calls. Special-token text is ordinary text to it, unless it is said otherwise;
 * `pi-strata/js-tiktoken` has one that throws on it, as js-tiktoken does.
 * @throws RangeError for another name.
 * @example getEncoding("o200k_base").encode("hello world") // [24912, 2375]
 */
export function getEncoding(
  name: EncodingName | Encoding,
  extendedSpecialTokens?: Record<string, number>,
): Encoding;

/** Facts about a vocabulary that its file does not hold. */
export interface LoadEncodingOptions {
  /** The name it is known by from then on. Default: the file's name without its ending; bytes need one. */
  name?: string;
  /** The pattern of a tiktoken file: a regular expression, as its model's own tokenizer has it. */
  pattern?: string;
  /** The special tokens of a tiktoken file: ids by text. */
  specialTokens?: Record<string, number>;
}

/**
 * The encoder of an open model, from the file it comes with: Hugging Face's `tokenizer.json` with byte-level BPE (Qwen,
 * DeepSeek, Llama 3, GLM, gpt-oss), Mistral's `tekken.json`, or a tiktoken file with its `pattern` (Kimi). Read off the main
 * thread, once per process and content, and kept until the process ends. Its own added tokens are found in text as the
 * file says; special ones only where `encode` is allowed them.
 * @param file A path, a file URL, or the bytes; 128 MB at most.
 * @throws ERR_INVALID_INPUT that names the place in the file, for one that cannot be read, is cut, contradicts itself, or
 * asks for something that is not supported (Unigram, WordPiece, another normaliser than NFC); RangeError for a name that is
 * taken; TypeError for other arguments.
 * @example
 * const encoding = await loadEncoding("models/Qwen3-8B/tokenizer.json", { name: "qwen3" });
 * createTransformContext({ encoding });
 * countTokens("hello world", { encoding: "qwen3" }); // 2
 */
export function loadEncoding(
  file: string | URL | Uint8Array,
  options?: LoadEncodingOptions,
): Promise<Encoding>;

/**
 * The encoder of an OpenAI model.
 * @throws Error that names the nearest known model.
 * @example encodingForModel("gpt-5-mini").name // "o200k_base"
 */
export function encodingForModel(model: string, extendedSpecialTokens?: Record<string, number>): Encoding;

/** The name of a model's encoding. Throws as `encodingForModel` does. */
export function getEncodingNameForModel(model: string): TiktokenEncoding;

export interface Encoding {
  /** The name it was asked for by, or loaded under. */
  readonly name: EncodingName;
  /**
   * True if text is cut by the engine's own scanner. False for a loaded file whose pattern is none of those it knows: that
   * runs as a regular expression, in linear time as well, but slower.
   */
  readonly isFast: boolean;
  /**
   * Tokens of `text`. Text of a special token in `allowedSpecial` becomes that token; any text in `disallowedSpecial`
   * throws, allowed or not; other special-token text is ordinary text. "all" names every special token, for
   * `disallowedSpecial` all that are not allowed.
   */
  encode(text: string, allowedSpecial?: string[] | "all", disallowedSpecial?: string[] | "all"): number[];
  /** The same as a `Uint32Array` of its own, which is made faster than a list of numbers. */
  encodeTyped(
    text: string,
    allowedSpecial?: string[] | "all",
    disallowedSpecial?: string[] | "all",
  ): Uint32Array;
  /**
   * The text of `tokens`; bytes that are no UTF-8 become U+FFFD. Throws for a number that is no token, with its
   * position.
   */
  decode(tokens: Iterable<number>): string;
  /** Number of tokens of `encode(text)` without special ones; none is made. */
  countTokens(text: string): number;
  /** The lists of tokens of a long text, a part at a time; together they are those of `encode`. */
  encodeGenerator(
    text: string,
    allowedSpecial?: string[] | "all",
    disallowedSpecial?: string[] | "all",
  ): Generator<number[], number, undefined>;
  /** The text of tokens, a part at a time; no part ends within a character. */
  decodeGenerator(tokens: Iterable<number>): Generator<string, void, undefined>;
  /** The text of tokens as they arrive, one by one or in lists; a character is given once it is whole. */
  decodeAsyncGenerator(
    tokens: AsyncIterable<number | Iterable<number>>,
  ): AsyncGenerator<string, void, undefined>;
  /** Does nothing: there is nothing to free. */
  free(): void;
}

/** The object in which js-tiktoken keeps ranks; `pi-strata/js-tiktoken/ranks/*` export them. */
export interface TiktokenBPE {
  pat_str: string;
  special_tokens: Record<string, number>;
  bpe_ranks: string;
}

/**
 * js-tiktoken's class: an encoder that throws on special-token text unless it is allowed. Takes the ranks of
 * `pi-strata/js-tiktoken/ranks/*` or js-tiktoken's own.
 * @throws RangeError for ranks that are none of OpenAI's.
 */
export class Tiktoken implements Encoding {
  constructor(ranks: TiktokenBPE, extendedSpecialTokens?: Record<string, number>);
  readonly name: TiktokenEncoding;
  readonly isFast: boolean;
  encode: Encoding["encode"];
  encodeTyped: Encoding["encodeTyped"];
  decode: Encoding["decode"];
  countTokens: Encoding["countTokens"];
  encodeGenerator: Encoding["encodeGenerator"];
  decodeGenerator: Encoding["decodeGenerator"];
  decodeAsyncGenerator: Encoding["decodeAsyncGenerator"];
  free: Encoding["free"];
}
