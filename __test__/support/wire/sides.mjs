// Rules about whose turn it is, for providers that want the user's side and the answers in turn.

/** The beginning of a message's text, which names it: a long one may be cut. */
const NAME_CHARS = 10;

/** What stands in place of an image that is left out. */
const IMAGE_MARKER = /^\[\.\.\. .*\]$/;

const textOf = ({ content }) =>
  Array.isArray(content)
    ? content.map(({ text = "" }) => text.replace(IMAGE_MARKER, "")).join("")
    : String(content);
const named = (message) => `${message.role} ${textOf(message).slice(0, NAME_CHARS)}`;

/** B1: no message follows one of its role. Pairs are numbered: a list with one is refused whichever two messages it is. */
export function sidesAlternate({ messages }) {
  return messages.filter(({ role }, i) => role === messages[i - 1]?.role).map((_, i) => `pair ${i + 1}`);
}

/** M1: an answer stands between tool results and the user's messages. */
export function answerBetween({ messages }) {
  let isAfterTool = false;
  return messages
    .filter(({ role }) => {
      isAfterTool = role === "tool" || (role === "user" && isAfterTool);
      return role === "user" && isAfterTool;
    })
    .map(named);
}
