/**
 * `pi-strata/tokens`: encodings with js-tiktoken's calls, and chats.
 * @module tokens
 */

import type { ChatMessage, CountOptions, EncodingName, TiktokenEncoding } from "../../index.js";

export type { ChatMessage, CountOptions, EncodingName, TiktokenEncoding } from "../../index.js";

/**
 * Counts the tokens of a chat's prompt by the rule in OpenAI's cookbook: 3 around each message, 1 for a name, 3 for the
 * beginning of the answer. Default encoding o200k_base.
 * @throws TypeError for a message without text.
 * @example countChatTokens([{ role: "user", content: "hi" }], { model: "gpt-4o" }) // 8
 */
export function countChatTokens(messages: ChatMessage[], options?: CountOptions): number;

/**
 * Encodes a chat's prompt with its marks, up to the beginning of the answer. A name replaces the role. The result equals
 * gpt-tokenizer's for gpt-4. For gpt-4o and newer models gpt-tokenizer has other ids for the marks, for gpt-3.5-turbo it adds line
 * breaks. `decode` knows the marks of o200k_harmony only; it throws for others.
 * @throws RangeError for an encoding without chats (p50k_base, p50k_edit, r50k_base).
 * @example encodeChat([{ role: "user", content: "hi" }], { model: "gpt-4o" }).length // 8
 */
export function encodeChat(messages: ChatMessage[], options?: CountOptions | string): number[];

/**
 * Returns an encoder with js-tiktoken's methods. It reads special-token text as ordinary text by default; the one of
 * `pi-strata/js-tiktoken` throws, as js-tiktoken does.
 * @throws RangeError for another name.
 * @example getEncoding("o200k_base").encode("hello world") // [24912, 2375]
 */
export function getEncoding(
  name: EncodingName | Encoding,
  extendedSpecialTokens?: Record<string, number>,
): Encoding;

/** Settings that a vocabulary's file may lack. */
export interface LoadEncodingOptions {
  /** Name of the encoding. Default: the file's name without its ending. Bytes need a name. */
  name?: string;
  /** For a tiktoken file: its regular expression, or the name "kimi", "cl100k_base", "o200k_base" or "gpt2". */
  pattern?: string;
  /** For a tiktoken file: ids of special tokens by text. */
  specialTokens?: Record<string, number>;
}

/**
 * Loads the encoder of an open model from its file. That is Hugging Face's `tokenizer.json` with byte-level BPE (Qwen,
 * DeepSeek, Llama 3, GLM, gpt-oss), Mistral's `tekken.json`, or a tiktoken file with its `pattern` (Kimi). A worker thread
 * reads it once per process and content. It stays until the process ends. Added tokens are found in text as the file says, special
 * ones only where `encode` allows them.
 * @param file A path, a file URL, or the bytes; at most 128 MB.
 * @throws ERR_INVALID_INPUT with the place in the file, if it is unreadable, truncated, contradictory, or needs something
 * unsupported (Unigram, WordPiece, a normaliser other than NFC); RangeError for a name in use; TypeError for other
 * arguments.
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
 * Returns the encoder of an OpenAI model.
 * @throws Error that names the nearest known model.
 * @example encodingForModel("gpt-5-mini").name // "o200k_base"
 */
export function encodingForModel(model: string, extendedSpecialTokens?: Record<string, number>): Encoding;

/** Returns the name of a model's encoding. Throws as `encodingForModel` does. */
export function getEncodingNameForModel(model: string): TiktokenEncoding;

export interface Encoding {
  /** The name it was requested or loaded by. */
  readonly name: EncodingName;
  /**
   * True if the engine's own scanner splits the text. False for a loaded file with another pattern, which runs as a regular
   * expression: also in linear time, but slower.
   */
  readonly isFast: boolean;
  /**
   * Encodes `text`. A special token in `allowedSpecial` becomes that token, one in `disallowedSpecial` throws, and any other
   * is ordinary text. "all" means every special token; in `disallowedSpecial` every one that is not allowed.
   */
  encode(text: string, allowedSpecial?: string[] | "all", disallowedSpecial?: string[] | "all"): number[];
  /** `encode` into a new `Uint32Array`, which is faster than a list of numbers. */
  encodeTyped(
    text: string,
    allowedSpecial?: string[] | "all",
    disallowedSpecial?: string[] | "all",
  ): Uint32Array;
  /** Decodes `tokens`. Bytes that are not UTF-8 become U+FFFD. Throws for a number that is no token, with its position. */
  decode(tokens: Iterable<number>): string;
  /** Counts the tokens of `encode(text)` without making them. */
  countTokens(text: string): number;
  /** Encodes a long text part by part; the lists joined equal `encode(text)`. */
  encodeGenerator(
    text: string,
    allowedSpecial?: string[] | "all",
    disallowedSpecial?: string[] | "all",
  ): Generator<number[], number, undefined>;
  /** Decodes tokens part by part; no part ends within a character. */
  decodeGenerator(tokens: Iterable<number>): Generator<string, void, undefined>;
  /** Decodes tokens as they arrive, single or in lists; yields only whole characters. */
  decodeAsyncGenerator(
    tokens: AsyncIterable<number | Iterable<number>>,
  ): AsyncGenerator<string, void, undefined>;
  /** Does nothing: there is nothing to free. */
  free(): void;
}

/** js-tiktoken's ranks object; `pi-strata/js-tiktoken/ranks/*` export them. */
export interface TiktokenBPE {
  pat_str: string;
  special_tokens: Record<string, number>;
  bpe_ranks: string;
}

/**
 * js-tiktoken's class: an encoder that throws on special-token text unless that is allowed. Takes the ranks of
 * `pi-strata/js-tiktoken/ranks/*` or of js-tiktoken.
 * @throws RangeError for other ranks than OpenAI's.
 */
export class Tiktoken implements Encoding {
  constructor(ranks: TiktokenBPE, extendedSpecialTokens?: Record<string, number>);
  readonly name: TiktokenEncoding;
  readonly isFast: boolean;
  encode(text: string, allowedSpecial?: string[] | "all", disallowedSpecial?: string[] | "all"): number[];
  encodeTyped(...given: Parameters<Encoding["encode"]>): Uint32Array;
  decode(tokens: Iterable<number>): string;
  countTokens(text: string): number;
  encodeGenerator(...given: Parameters<Encoding["encode"]>): ReturnType<Encoding["encodeGenerator"]>;
  decodeGenerator(tokens: Iterable<number>): ReturnType<Encoding["decodeGenerator"]>;
  decodeAsyncGenerator(
    ...given: Parameters<Encoding["decodeAsyncGenerator"]>
  ): ReturnType<Encoding["decodeAsyncGenerator"]>;
  free(): void;
}
