// A process that adds to a session of a ContextManager and now and then clears it, and says before and after each call
// what it does: what it said survives it, because each word is in the pipe before the next call begins.
import sessions from "../../lib/sessions/index.js";

const [store, sessionId, first] = process.argv.slice(2);
/** Adds between two clears. */
const CLEAR_EVERY = 40;
const say = (...words) => new Promise((resolve) => process.send(words, resolve));

const manager = new sessions.ContextManager({ store, maxMessages: 30, onEvent: () => {} });
await manager.getOrCreateContext(sessionId);
for (let n = Number(first); ; n += 1) {
  const call = n % CLEAR_EVERY === CLEAR_EVERY - 1 ? "clear" : "add";
  await say(call, n);
  try {
    if (call === "clear") await manager.clearContext(sessionId);
    else await manager.addMessage(sessionId, { role: "user", content: `message ${n}` });
    await say("done", n);
  } catch (error) {
    await say(error.code === "ERR_STORE_UNCERTAIN" ? "uncertain" : "refused", n);
  }
}
