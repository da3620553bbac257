// A session of the real pi coding agent whose model is a script of ten tool calls with long results.

import { createScriptedModel, scriptedModel } from "../../examples/scripted/model.mjs";
import {
  AuthStorage,
  createAgentSession,
  DefaultResourceLoader,
  ModelRegistry,
  SessionManager,
  SettingsManager,
} from "../coding-agent/pi.mjs";

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
 * that says what the model was sent so far.
 */
export async function runSession(folder, extensions, options = {}) {
  const { prompts = ["go"], hasUI = true, script = tenCalls } = options;
  const settingsManager = SettingsManager.inMemory();
  const authStorage = AuthStorage.inMemory({ anthropic: { type: "api_key", key: "none" } });
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
    authStorage,
    modelRegistry: ModelRegistry.inMemory(authStorage),
    model: scriptedModel,
    sessionManager: SessionManager.inMemory(folder),
    settingsManager,
    resourceLoader,
  });
  const errors = [...extensionsResult.errors];
  const model = createScriptedModel(script(() => model.sent));
  session.agent.streamFn = model.streamFn;
  const statuses = [];
  const notices = [];
  const uiContext = {
    setStatus: (key, text) => statuses.push([key, text]),
    notify: (text, kind) => notices.push([kind, text]),
    theme: {},
  };
  await session.bindExtensions({
    ...(hasUI ? { uiContext } : {}),
    onError: (error) => errors.push(error),
  });
  for (const prompt of prompts) await session.prompt(prompt);
  return { session, sent: model.sent, statuses, notices, errors };
}
