// A copy of the host's log, kept up to date by asking for news.

const PAUSE_MS = 200;

export class Live {
  isConnected = false;
  calls = [];
  messages = { role: [], tool: [], tokens: [] };
  stretches = [];
  changes = [];
  #generation = 0;
  /** Number of the newest change known; the host answers null until there is a newer one. */
  #revision = -1;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
    this.#ask();
  }

  /** `{ role, name, text, sent }` of a message; null if the host no longer holds it. */
  async text(number) {
    const response = await fetch(`message?number=${number}`);
    return response.json();
  }

  async #ask() {
    const wasConnected = this.isConnected;
    const seen = new URLSearchParams({
      generation: this.#generation,
      revision: this.#revision,
      calls: this.calls.length,
      messages: this.messages.role.length,
      changes: this.changes.length,
    });
    const answer = await fetch(`state?${seen}`)
      .then((response) => response.json())
      .catch(() => undefined);
    this.isConnected = answer !== undefined;
    if (answer) this.#take(answer);
    setTimeout(() => this.#ask(), PAUSE_MS);
    if (answer || this.isConnected !== wasConnected) this.#onChange();
  }

  #take({ generation, revision, ...news }) {
    const { firstCall, calls, firstMessage, messages, stretches, firstChange, changes, updated } = news;
    this.#generation = generation;
    this.#revision = revision;
    this.calls.splice(firstCall, Infinity, ...calls);
    for (const [name, column] of Object.entries(messages))
      this.messages[name].splice(firstMessage, Infinity, ...column);
    this.stretches = stretches;
    this.changes.splice(firstChange, Infinity, ...changes);
    for (const [position, change] of updated) this.changes[position] = change;
  }
}
