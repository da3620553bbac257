/**
 * `pi-strata/openclaw`: the context engine plugin. `openclaw plugins install pi-strata` installs it; options are in
 * `plugins.entries["pi-strata"].config`.
 * @module openclaw
 */

/** The part of OpenClaw's plugin interface that is used. */
export interface PluginApi {
  pluginConfig?: Record<string, unknown> | undefined;
  logger?: { warn?(message: string): void } | undefined;
  registerContextEngine(id: string, factory: (context: object) => object): void;
  on?(hook: string, handler: (event: object, context?: object) => void): void;
}

export const id: string;
export const name: string;
export const description: string;
export const kind: "context-engine";
/** Registers the engine "pi-strata". */
export function register(api: PluginApi): void;
