// js-tiktoken's "lite" entry.

export type { TiktokenEncoding, TiktokenModel } from "./index.js";
export { getEncodingNameForModel, Tiktoken, type TiktokenBPE } from "./index.js";
