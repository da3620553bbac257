// Keeps what the host told so far in step with the host: asks it now and then for what is new.

const PAUSE_MS = 200;

export class Live {
  isConnected = false;
  calls = [];
  messages = { role: [], tool: [], tokens: [] };
  stretches = [];
  changes = [];
  #generation = 0;
  /** The last answer: while nothing is new the next one is the same. */
  #last;
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
    try {
      const seen = new URLSearchParams({
        generation: this.#generation,
        calls: this.calls.length,
        messages: this.messages.role.length,
        changes: this.changes.length,
      });
      const response = await fetch(`state?${seen}`);
      const answer = await response.text();
      this.isConnected = true;
      if (answer !== this.#last) this.#take(JSON.parse(answer));
      if (answer !== this.#last || !wasConnected) this.#onChange();
      this.#last = answer;
    } catch {
      this.isConnected = false;
      if (wasConnected) this.#onChange();
    }
    setTimeout(() => this.#ask(), PAUSE_MS);
  }

  #take({ generation, firstCall, calls, firstMessage, messages, stretches, firstChange, changes, updated }) {
    this.#generation = generation;
    this.calls.splice(firstCall, Infinity, ...calls);
    for (const [name, column] of Object.entries(messages))
      this.messages[name].splice(firstMessage, Infinity, ...column);
    this.stretches = stretches;
    this.changes.splice(firstChange, Infinity, ...changes);
    for (const [position, change] of updated) this.changes[position] = change;
  }
}
