// A session of the real pi coding agent whose model is a script of ten tool calls with long results.

import { join } from "node:path";
import { createScriptedModel, scriptedModel } from "../../examples/scripted/model.mjs";
import { codingAgents } from "../coding-agent/pi.mjs";

export const textOf = (message) => message.content.map((block) => block.text ?? "").join("");
export const resultsIn = (messages) => messages.filter((message) => message.role === "toolResult");

/** Calls of the script; the model is asked once more, for its last word. */
export const CALLS = 10;
const LONG = "for i in $(seq 200); do echo line $i of a long result; done";

function* tenCalls() {
  for (let i = 0; i < CALLS; i += 1) {
    yield { thinking: `step ${i}`, calls: [{ name: "bash", arguments: { command: `: ${i}; ${LONG}` } }] };
  }
  yield { text: "done" };
}

/**
 * A session over the script, in this folder and with these extensions, after these prompts; what the model was sent,
 * and what the user saw. Without a screen, as in print mode, if `hasUI` is false. Another `script` is handed a function
 * that says what the model was sent so far; another `version` of pi, `model`, list of `tools`, or `sessionManager`, a function
 * of that class, can be had; a prompt may be a function that is handed the session.
 */
export async function runSession(folder, extensions, options = {}) {
  const { prompts = ["go"], hasUI = true, script = tenCalls, version = "0.74.2" } = options;
  const pi = await codingAgents[version]();
  const { createAgentSession, DefaultResourceLoader, SessionManager, SettingsManager } = pi;
  const settingsManager = SettingsManager.inMemory(options.settings);
  const resourceLoader = new DefaultResourceLoader({
    cwd: folder,
    agentDir: folder,
    settingsManager,
    noExtensions: true,
    ...extensions,
  });
  await resourceLoader.reload();
  const { session, extensionsResult } = await createAgentSession({
    cwd: folder,
    agentDir: folder,
    ...(await credentials(pi, folder)),
    model: options.model ?? scriptedModel,
    ...(options.tools && { tools: options.tools }),
    sessionManager: options.sessionManager?.(SessionManager) ?? SessionManager.inMemory(folder),
    settingsManager,
    resourceLoader,
  });
  const errors = [...extensionsResult.errors];
  const model = createScriptedModel(script(() => model.sent));
  // Its name until 0.86, and since.
  for (const name of ["streamFn", "streamFunction"]) session.agent[name] = model.streamFn;
  const statuses = [];
  const notices = [];
  const uiContext = {
    setStatus: (key, text) => statuses.push([key, text]),
    notify: (text, kind) => notices.push([kind, text]),
    theme: {},
  };
  await session.bindExtensions({ ...(hasUI ? { uiContext } : {}), onError: (error) => errors.push(error) });
  for (const prompt of prompts) {
    if (typeof prompt === "function") await prompt(session);
    else await session.prompt(prompt);
  }
  return { session, sent: model.sent, statuses, notices, errors };
}

/** A key for the scripted model's provider, as each version of pi takes it. */
async function credentials({ AuthStorage, ModelRegistry, ModelRuntime }, folder) {
  if (ModelRuntime === undefined) {
    const authStorage = AuthStorage.inMemory({ anthropic: { type: "api_key", key: "none" } });
    return { authStorage, modelRegistry: ModelRegistry.inMemory(authStorage) };
  }
  const modelRuntime = await ModelRuntime.create({ authPath: join(folder, "auth.json"), modelsPath: null });
  await modelRuntime.setRuntimeApiKey("anthropic", "none");
  return { modelRuntime };
}
