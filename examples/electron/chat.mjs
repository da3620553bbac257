// The conversation as the main process holds it: pi's Agent with the hook, and the rolling memory that begins a new
// conversation before the window is full. Knows nothing of Electron: what the page shall show goes through `emit`.
import { Agent } from "@earendil-works/pi-agent-core";
import { createTransformContext, getContextWindow } from "pi-strata";
import { RollingMemory } from "pi-strata/sessions";

/**
 * @param options.agent initial state and `streamFn` of the Agent
 * @param options.emit told what to show: `message`, `newConversation`, `tokens`, `failed`, `idle`
 * @param options.summarize makes the memory's pairs with a model; without it, text is clipped
 * @param options.inspector a `createInspector()` of pi-strata's, to look at what the model sees
 */
export function createChat({ initialState, streamFn, emit, summarize, memory: settings, inspector }) {
  const createHook = inspector?.createTransformContext ?? createTransformContext;
  const contextWindow = () => getContextWindow(agent.state.model);
  const agent = new Agent({
    initialState,
    ...(streamFn && { streamFn }),
    transformContext: createHook({
      contextWindow,
      onEvent({ type, tokensBefore, tokensAfter }) {
        if (type === "transformed") emit({ type: "tokens", tokensBefore, tokensAfter });
      },
    }),
  });
  let isOverflow = false;
  const memory = new RollingMemory({
    contextWindow,
    ...settings,
    ...(summarize && { summarize }),
    onEvent(event) {
      if (event.type === "new_conversation_with_summary") isOverflow = event.isOverflow === true;
    },
  });

  agent.subscribe(({ type, message }) => {
    if (type === "message_end" && message.role === "assistant") emitAnswer(message);
  });

  if (inspector !== undefined) agent.subscribe(inspector.answered);

  function emitAnswer({ content, stopReason, errorMessage }) {
    const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
    if (text !== "") emit({ type: "message", role: "assistant", text });
    if (stopReason === "error") emit({ type: "failed", text: errorMessage ?? "?" });
  }

  function take({ messages, rolledOver, history }) {
    agent.state.messages = messages;
    if (rolledOver) emit({ type: "newConversation", pairs: history, isOverflow });
  }

  return {
    /** One question and its answer; the page shows the question once it is clear in which conversation it stands. */
    async ask(question) {
      try {
        take(await memory.beforePrompt(agent.state.messages, question));
        emit({ type: "message", role: "user", text: question });
        await agent.continue();
        take(await memory.afterReply(agent.state.messages));
      } catch (error) {
        emit({ type: "failed", text: error.message });
      } finally {
        emit({ type: "idle" });
      }
    },
    stop: () => agent.abort(),
  };
}
