// The ranks of one encoding, as js-tiktoken exports them: what `new Tiktoken(ranks)` takes.

import type { TiktokenBPE } from "../index.js";

declare const ranks: TiktokenBPE;
export = ranks;
