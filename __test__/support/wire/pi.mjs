// pi-ai of one version as a source of request bodies: from a transcript, as the hook returned it, to what the provider
// would be sent. Nothing is sent: the body is taken from pi at the last moment before the request, and the request is
// abandoned there.

import { scriptedModel } from "../../../examples/scripted/model.mjs";
import { piAis, piVersions } from "../../pi/versions.mjs";

/** Nobody listens here. */
const NOWHERE = "http://127.0.0.1:9/v1";

// Amazon's client asks for a region before anything else.
process.env.AWS_REGION ??= "us-east-1";

const SYSTEM_PROMPT = "Be careful.";
const tool = (name) => ({
  name,
  description: name,
  parameters: { type: "object", properties: { path: { type: "string" } } },
});
const tools = [tool("read"), tool("bash")];

/** The prompt with the tools, and a later change of both, as messages of the transcript. */
const systemMessages = {
  prompt: [{ role: "system", content: SYSTEM_PROMPT, toolsAdded: tools }],
  promptChange: [{ role: "system", content: "Be brief.", toolsAdded: [tool("write")] }],
};

class Captured extends Error {}

/** How one pi version turns transcripts into request bodies. */
export class PiWire {
  #ai;
  #convertToLlm;
  #hasSystemMessages;

  static async load(version) {
    const wire = new PiWire();
    wire.#ai = await piAis[version]();
    // pi's own conversion of app messages came with 0.74; before, it was the app's.
    const { convertToLlm } = await piVersions[version === "0.73.1" ? "0.74.2" : version]();
    wire.#convertToLlm = convertToLlm;
    wire.#hasSystemMessages = version === "0.87.1";
    return wire;
  }

  /** The messages of role `system` that a session of this version holds. */
  get systemMessages() {
    return this.#hasSystemMessages ? systemMessages : {};
  }

  /** The body that `author`'s provider would be sent for this transcript. */
  async payloadOf(author, messages) {
    const context = { messages: await this.#convertToLlm(messages) };
    const hasPrompt = context.messages.some(({ role }) => role === "system");
    if (!hasPrompt) Object.assign(context, { systemPrompt: SYSTEM_PROMPT, tools });
    let payload;
    const stream = this.#ai.streamSimple(modelOf(author), context, {
      apiKey: "none",
      reasoning: "medium",
      maxRetries: 0,
      onPayload(body) {
        payload = body;
        throw new Captured("captured");
      },
    });
    const { errorMessage } = await stream.result();
    if (payload === undefined) throw new Error(`pi made no request: ${errorMessage}`);
    return payload;
  }
}

function modelOf({ api, provider, model: id, thinks }) {
  const input = ["text", "image"];
  return { ...scriptedModel, id, api, provider, baseUrl: NOWHERE, reasoning: thinks !== "never", input };
}
