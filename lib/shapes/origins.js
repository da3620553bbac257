// The lists that edited lists were made of. Some hosts go on from the edited list that they were given: the AI SDK from
// version 7 on, OpenClaw within a turn. The hook must see the whole conversation instead.
"use strict";

class Origins {
  /** By the last message of an edited list: that list, and the one that it was made of. */
  #known = new WeakMap();

  /** The list that `messages` goes on from, with what is new in it; `messages` itself if it was not made here. */
  of(messages) {
    for (let end = messages.length; end > 0; end -= 1) {
      const { edited, whole } = this.#known.get(messages[end - 1]) ?? {};
      if (edited?.length === end && edited.every((message, i) => message === messages[i])) {
        return whole.concat(messages.slice(end));
      }
    }
    return messages;
  }

  /** Remembers what `edited` was made of. */
  keep(edited, whole) {
    if (edited.length > 0) this.#known.set(edited.at(-1), { edited: edited.slice(), whole });
    return edited;
  }
}

module.exports = { Origins };
