// Runs an Agent of one pi version over a script, with or without a hook, and hands back all that a test can ask
// about: what went into the hook, what came out, what reached the model, what the agent keeps.

import { createScriptedModel, scriptedModel } from "../../examples/scripted/model.mjs";
import { piVersions } from "../pi/versions.mjs";

export const SYSTEM_PROMPT = "You are a careful engineer. Answer from the files you have read.";

/**
 * @param options.version a version of `piVersions`
 * @param options.hook the `transformContext` under test, or nothing
 * @param options.prompts the user's messages, one run of the agent each
 * @param options.onAgent called with the agent before it starts
 */
export async function runAgent({ version, hook, script, tools, prompts, model: modelOptions, onAgent }) {
  const { Agent } = await piVersions[version]();
  const hookCalls = [];
  const kept = [];
  const model = createScriptedModel(script, modelOptions);
  const agent = new Agent({
    initialState: { systemPrompt: SYSTEM_PROMPT, model: scriptedModel, tools, thinkingLevel: "off" },
    streamFn: model.streamFn,
    ...(hook && {
      async transformContext(messages, signal) {
        const given = { array: messages, messages: [...messages], signal };
        hookCalls.push(given);
        given.returned = await hook(messages, signal);
        given.result = [...given.returned];
        return given.returned;
      },
    }),
  });
  agent.subscribe((event) => {
    if (event.type === "message_end")
      kept.push({ message: event.message, copy: structuredClone(event.message) });
  });
  onAgent?.(agent);
  for (const prompt of prompts) await agent.prompt(prompt);
  return { agent, hookCalls, kept, sent: model.sent, messages: agent.state.messages };
}
