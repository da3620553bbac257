// One conversation in the closed loop with its judge, as tests of single cases have it.

import { droppedOf, Judge } from "./judge.mjs";
import { Loop } from "./loop.mjs";
import { Provider } from "./provider.mjs";
import { Scribe } from "./texts.mjs";

/**
 * `call(tokens, answer)` sends, answers, and adds results of so many tokens; what the judge says stands in the record. `rewrite`
 * changes the host's list. `opening` makes the first messages; the rest of `more` is the loop's.
 */
export function talk(
  settings,
  options = {},
  { opening = (by) => [by.user(50)], scribe = new Scribe(), ...more } = {},
) {
  const loop = new Loop(new Provider(settings), options, { endsAtRefusal: true, ...more });
  const judge = new Judge(loop);
  loop.messages.push(...opening(scribe));
  const call = async (tokens, answer = scribe.asks()) => {
    const record = await loop.call(answer);
    if (!record.isRefused) loop.messages.push(...scribe.results(answer, tokens));
    return { ...record, ...judge.look(record), dropped: droppedOf(record.given, record.sent) };
  };
  const calls = async (count, tokens, answer) => {
    const records = [];
    for (let at = 0; at < count; at += 1) records.push(await call(tokens, answer?.()));
    return records;
  };
  const rewrite = (change) => {
    loop.messages = change(loop.messages, scribe) ?? loop.messages;
    for (const message of loop.messages) loop.provider.forget(message);
    judge.hostChanged();
  };
  return { scribe, loop, judge, call, calls, rewrite };
}

/** Makes the hooks of several loops one: events go to the loop that calls. */
export function sharedHook(createHook) {
  let [hook, tell] = [];
  return ({ onEvent, ...options }) => {
    hook ??= createHook({ ...options, onEvent: (event) => tell(event) });
    return (messages) => {
      tell = onEvent;
      return hook(messages);
    };
  };
}
