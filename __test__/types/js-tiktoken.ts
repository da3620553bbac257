// Compiled, never run: code written against js-tiktoken's own declarations compiles against ours.

import type * as theirs from "js-tiktoken";
import type * as theirLite from "js-tiktoken/lite";
import * as ours from "pi-strata/js-tiktoken";
import * as ourLite from "pi-strata/js-tiktoken/lite";
import o200k from "pi-strata/js-tiktoken/ranks/o200k_base";

/** The class has private members, which no other class can have: its public ones are compared. */
type Public<T> = { [K in keyof T]: T[K] };
type Their = Public<theirs.Tiktoken>;

const encoding: Their = ours.getEncoding("o200k_base");
const lite: Their = new ourLite.Tiktoken(o200k, { "<|x|>": 300_000 });
const ranks: theirs.TiktokenBPE = o200k;
const name: theirs.TiktokenEncoding = ours.getEncodingNameForModel("gpt-4o");
const every: (model: theirs.TiktokenModel) => Their = ours.encodingForModel;
const named: typeof theirs.getEncodingNameForModel = ours.getEncodingNameForModel;
const namedLite: typeof theirLite.getEncodingNameForModel = ourLite.getEncodingNameForModel;
const models: ours.TiktokenModel = "gpt-4o" as theirs.TiktokenModel;
const encodings: ours.TiktokenEncoding = "gpt2" as theirs.TiktokenEncoding;
const construct: new (...given: ConstructorParameters<typeof theirs.Tiktoken>) => Their = ours.Tiktoken;
class Own extends ours.Tiktoken {
  override encode(text: string, allowed?: string[] | "all", disallowed?: string[] | "all"): number[] {
    return super.encode(text.trim(), allowed, disallowed);
  }
}
const anyModel: Their = ours.encodingForModel("some-model-of-tomorrow");

export { anyModel, construct, encoding, encodings, every, lite, models, name, named, namedLite, Own, ranks };
