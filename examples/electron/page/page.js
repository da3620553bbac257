// The chat page: shows what the main process tells it. When a conversation ends, its turns stay to be read and a new
// one opens below with what is remembered. Text is only ever set as text, never as HTML.

const conversations = document.getElementById("conversations");
const tokens = document.getElementById("tokens");
const form = document.getElementById("ask");
const question = document.getElementById("question");
const stop = document.getElementById("stop");

let current = openConversation();

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

function openConversation(...opening) {
  const section = element("section", "conversation", ...opening);
  conversations.append(section);
  return section;
}

function startNewConversation({ pairs, isOverflow }) {
  current.classList.add("old");
  current.setAttribute("aria-readonly", "true");
  current.append(element("p", "divider", "🆕 已开启新对话"));
  const opening = [element("p", "divider", "✨ 新对话已开始")];
  if (isOverflow) opening.push(element("p", "notice", "⚠️ 历史记录过长"));
  if (pairs.length > 0) opening.push(memoryOf(pairs));
  current = openConversation(...opening);
}

function memoryOf(pairs) {
  const list = element(
    "dl",
    "",
    ...pairs.flatMap(({ q, a }) => [element("dt", "", q), element("dd", "", a)]),
  );
  return element("details", "memory", element("summary", "", "📋 上一轮对话记忆"), list);
}

function setBusy(isBusy) {
  form.querySelector("[type=submit]").disabled = isBusy;
  stop.hidden = !isBusy;
}

const handlers = {
  message: ({ role, text }) => current.append(element("div", `message ${role}`, text)),
  newConversation: startNewConversation,
  tokens({ tokensBefore, tokensAfter }) {
    tokens.textContent = `${Math.round(tokensBefore)} → ${Math.round(tokensAfter)} tokens`;
  },
  failed: ({ text }) => current.append(element("p", "failed", text)),
  idle: () => setBusy(false),
};

window.chat.onEvent((event) => {
  handlers[event.type]?.(event);
  conversations.scrollTop = conversations.scrollHeight;
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = question.value.trim();
  if (text === "") return;
  question.value = "";
  setBusy(true);
  window.chat.ask(text);
});

question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

stop.addEventListener("click", () => window.chat.stop());
