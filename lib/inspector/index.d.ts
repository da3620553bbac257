/**
 * `pi-strata/inspector`: a live look at what the model sees. Sizes are the provider's tokens, estimated; dollars are for
 * input.
 * @module inspector
 */

import type { MessageLike, TransformContext, TransformContextOptions } from "../../index";

/**
 * Makes an inspector, which watches a hook and serves a local page about it. It listens once `open` is called. It stores a
 * bounded amount of numbers, and weak references to messages.
 * @throws TypeError for a wrong option.
 * @example
 * const inspector = createInspector();
 * const agent = new Agent({ initialState, transformContext: inspector.createTransformContext({ contextWindow }) });
 * agent.subscribe(inspector.answered);
 * console.log(await inspector.open());
 */
export function createInspector(options?: InspectorOptions): Inspector;

export interface InspectorOptions {
  /** The heading of the page. Default "pi-strata". */
  title?: string;
  /**
   * Dollars per million tokens, for calls without `usage.cost`. Missing prices follow from `input` by the model's family.
   * Without prices and costs the page shows a dash.
   */
  prices?: { input: number; read?: number; write?: number; output?: number };
}

export interface Inspector {
  /**
   * Makes a watched hook, which returns what a hook of `createTransformContext` returns. Use one inspector per
   * conversation.
   */
  createTransformContext(options?: TransformContextOptions): TransformContext;
  /**
   * Takes pi's agent events, or an assistant message, and shows reported usage at once. Without it the page shows an answer
   * with the next call.
   * @example agent.subscribe(inspector.answered)
   */
  answered(event: { type: string } | MessageLike): void;
  /**
   * Listens on 127.0.0.1 and resolves with the page's address, which contains a secret: anyone with it can read the
   * conversation. A second call resolves with the same address. Does not keep the process alive.
   * @param options.port default 0, any free port
   * @throws Error with code EADDRINUSE if the port is taken.
   */
  open(options?: { port?: number }): Promise<string>;
  /** Stops listening. The hooks continue. */
  close(): Promise<void>;
}
