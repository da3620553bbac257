/**
 * `pi-strata/inspector`: a live look at what the model sees. Sizes are the provider's tokens, estimated; dollars are for
 * input.
 * @module inspector
 */

import type { MessageLike, TransformContext, TransformContextOptions } from "../../index";

/**
 * Makes an inspector: it watches hooks and shows what they do on a page of this machine's own. Nothing listens until
 * `open` is called. It keeps numbers, bounded; of the messages it keeps weak references.
 * @throws TypeError for an option that is not allowed.
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
   * Dollars per million tokens, where usage tells no cost. The other prices follow from `input` as those of the model's family
   * do. Without prices and costs the page shows a dash.
   */
  prices?: { input: number; read?: number; write?: number; output?: number };
  /** Calls that are kept, the oldest going first. Default 10 000. */
  maxCalls?: number;
}

export interface Inspector {
  /**
   * `createTransformContext` of the package, watched: the hook it makes resolves with just what that one's would. One
   * inspector is for one conversation.
   */
  createTransformContext(options?: TransformContextOptions): TransformContext;
  /**
   * Takes any of pi's agent events, or an assistant message, and shows what the provider reported at once. Without it the
   * page learns of an answer with the next call.
   * @example agent.subscribe(inspector.answered)
   */
  answered(event: { type: string } | MessageLike): void;
  /**
   * Listens on 127.0.0.1 and resolves with the page's address, which holds a secret: who has it can read the conversation
   * that the host holds. Opened again, it is the same address. Does not keep the process alive.
   * @throws Error with code EADDRINUSE where `port` is taken; default 0, any that is free.
   */
  open(options?: { port?: number }): Promise<string>;
  /** Stops listening. The hooks go on. */
  close(): Promise<void>;
}
