// Messages of a session in their provider-neutral shape, by who says them, and what a manager has of them.

export const user = (content) => ({ role: "user", content });
export const says = (content) => ({ role: "assistant", content });
export const calls = (id, command) => ({
  role: "assistant",
  content: "",
  toolCalls: [{ id, name: "bash", arguments: { command } }],
});
export const result = (id, content, isError) => ({ role: "tool", content, toolCallId: id, isError });

/** So many messages of the user's, by their numbers. */
export const numbered = (count, from = 0) =>
  Array.from({ length: count }, (_, n) => user(`message ${from + n}`));

export const contents = (manager, id) => manager.getMessages(id).map(({ content }) => content);

/** A summariser that answers when it is told to, by `answer`, which is there once it was asked. */
export function slowSummarizer() {
  const slow = { asked: 0 };
  slow.summarize = () => {
    slow.asked += 1;
    return new Promise((resolve) => (slow.answer = resolve));
  };
  return slow;
}
