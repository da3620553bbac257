// Messages of a session in their provider-neutral shape, by who says them, and what a manager has of them.

export const user = (content) => ({ role: "user", content });
export const says = (content) => ({ role: "assistant", content });
export const calls = (id, command) => ({
  role: "assistant",
  content: "",
  toolCalls: [{ id, name: "bash", arguments: { command } }],
});
export const result = (id, content, isError) => ({ role: "tool", content, toolCallId: id, isError });

export const contents = (manager, id) => manager.getMessages(id).map(({ content }) => content);
