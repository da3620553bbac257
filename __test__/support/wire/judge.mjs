// Judges a request body as its provider would: the rules of its wire format, written from what providers refuse and
// sharing no code with the product.

import { rules as anthropic } from "./anthropic.mjs";
import { rules as bedrock } from "./bedrock.mjs";
import { rules as chat } from "./chat.mjs";
import { rules as google } from "./google.mjs";
import { rules as mistral } from "./mistral.mjs";
import { rules as responses } from "./responses.mjs";

/** The rules of each protocol, by the name pi gives it. */
export const rulesOf = {
  "anthropic-messages": anthropic,
  "openai-completions": chat,
  "openai-responses": responses,
  "google-generative-ai": google,
  "bedrock-converse-stream": bedrock,
  "mistral-conversations": mistral,
};

/**
 * The provider's objections, as `rule: subject`, sorted.
 *
 * @param unedited the body of the same request without the hook; rules that compare say nothing without it
 */
export function judge(api, payload, unedited) {
  const objections = Object.entries(rulesOf[api]).flatMap(([name, rule]) =>
    rule(payload, unedited).map((subject) => `${name}: ${subject}`),
  );
  return objections.sort();
}

/** What the provider would object to in the hook's request and not in the one without the hook. */
export function introduced(api, payload, unedited) {
  const own = new Set(judge(api, unedited, unedited));
  return judge(api, payload, unedited).filter((objection) => !own.has(objection));
}
