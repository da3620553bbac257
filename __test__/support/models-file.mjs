// pi's models.json for the run: the window pi is told, and a server of one's own where one is named.

/** Tokens of the longest answer of a model at a server of one's own. */
const MAX_TOKENS = 8192;

/** Of a model pi knows only the window changes; one at `baseUrl` is described whole. */
export function modelsFile({ provider, model, window, baseUrl, api, prices, keyVariable }) {
  if (baseUrl === undefined) {
    return { providers: { [provider]: { modelOverrides: { [model]: { contextWindow: window } } } } };
  }
  const described = {
    id: model,
    contextWindow: window,
    maxTokens: MAX_TOKENS,
    input: ["text"],
    cost: prices,
  };
  return { providers: { [provider]: { baseUrl, api, apiKey: keyVariable, models: [described] } } };
}
