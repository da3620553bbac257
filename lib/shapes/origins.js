// Finds the unedited list behind an edited one. Some hosts continue from the edited list: the AI SDK from version 7 on, OpenClaw
// within a turn. The hook must see the whole conversation.
"use strict";

class Origins {
  /** Maps the last message of an edited list to that list and the unedited one. */
  #known = new WeakMap();

  /** Replaces the edited list at the start of `messages` by the unedited one. Returns `messages` itself if there is none. */
  of(messages) {
    for (let end = messages.length; end > 0; end -= 1) {
      const { edited, whole } = this.#known.get(messages[end - 1]) ?? {};
      if (edited?.length === end && edited.every((message, i) => message === messages[i])) {
        return whole.concat(messages.slice(end));
      }
    }
    return messages;
  }

  /** Remembers the unedited list of `edited`. */
  keep(edited, whole) {
    if (edited.length > 0) this.#known.set(edited.at(-1), { edited: edited.slice(), whole });
    return edited;
  }
}

module.exports = { Origins };
