// Keeps what the host told so far in step with the host: asks it now and then for what is new.

const PAUSE_MS = 200;

export class Live {
  isConnected = false;
  calls = [];
  messages = { role: [], tool: [], tokens: [] };
  stretches = [];
  changes = [];
  #generation = 0;
  /** Number of the newest change that the host told; it tells nothing else until there is another one. */
  #revision = -1;
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
    this.#ask();
  }

  /** `{ role, name, text, sent }` of a message; null where the host holds it no more. */
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
