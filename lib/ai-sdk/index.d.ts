/**
 * `pi-strata/ai-sdk`: the hook for the AI SDK, versions 5, 6 and 7. Lists are `ModelMessage[]`. `convertToModelMessages`
 * converts `UIMessage[]` to them.
 * @module ai-sdk
 */

import type { TransformContextOptions } from "../../index.js";

/** A model as the SDK has it: an object, or a gateway's "provider/model". */
export type ModelLike = string | { provider: string; modelId: string };

/** Usage as versions 5, 6 and 7 report it. */
export interface UsageLike {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  cachedInputTokens?: number | undefined;
  inputTokenDetails?:
    | { cacheReadTokens?: number | undefined; cacheWriteTokens?: number | undefined }
    | undefined;
}

/**
 * Returns a `prepareStep` that gives each step the messages of the hook. Unedited messages are the same objects. Tool calls,
 * results and approvals stay whole. `providerOptions` (`cacheControl`) stay in place. The usage of each step calibrates the
 * estimate and the cache. It never throws: it sends an unreadable list as it is, with one warning. One function serves any
 * number of runs: make it once, not for each request.
 * @throws TypeError for options that are not allowed
 * @example new ToolLoopAgent({ model, tools, prepareStep: createPrepareStep({ contextWindow: 200_000 }) })
 */
export function createPrepareStep(
  options?: TransformContextOptions,
): <M extends { role: string }>(step: {
  messages: M[];
  steps?: readonly object[];
  model?: ModelLike | object;
}) => Promise<{ messages: M[] }>;

/**
 * Resolves with the messages to send in a call without an agent. Pass the same options object and the newest usage at each
 * call: cut text then stays the same, and the prompt cache holds. Without usage the hook may cut more at each call, which breaks
 * the cache and can cost more than no hook.
 * @param call the model that will answer, and the usage of the newest answer in `messages`: the last step's, since in version 7
 * `result.usage` is the sum of all steps. Usage of a call that was not made with this options object is ignored
 * @returns `messages` itself if nothing is edited
 * @throws (rejects) TypeError for options that are not allowed
 * @example streamText({ model, messages: await pruneForBudget(messages, OPTIONS, { model, usage }) })
 */
export function pruneForBudget<M extends { role: string }>(
  messages: M[],
  options?: TransformContextOptions,
  call?: {
    model?: ModelLike | object | undefined;
    usage?: UsageLike | undefined;
    providerMetadata?: object | undefined;
  },
): Promise<M[]>;
