// Keeps what the host told so far in step with the host: asks for what is new when it says there is something.

/** Asked at most this often. */
const PAUSE_MS = 200;

export class Live {
  isConnected = false;
  calls = [];
  messages = { role: [], tool: [], tokens: [] };
  stretches = [];
  changes = [];
  #generation = 0;
  #onChange;
  #isAsking = false;
  #isStale = false;

  constructor(onChange) {
    this.#onChange = onChange;
    const events = new EventSource("events");
    events.onopen = () => this.#ask();
    events.onmessage = () => this.#ask();
    events.onerror = () => {
      this.isConnected = false;
      this.#onChange();
    };
  }

  /** `{ role, name, text, sent }` of a message; null where the host holds it no more. */
  async text(number) {
    const response = await fetch(`message?number=${number}`);
    return response.json();
  }

  async #ask() {
    this.#isStale = true;
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        const seen = new URLSearchParams({
          generation: this.#generation,
          calls: this.calls.length,
          messages: this.messages.role.length,
          changes: this.changes.length,
        });
        const response = await fetch(`state?${seen}`);
        this.#take(await response.json());
        this.isConnected = true;
        this.#onChange();
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      this.isConnected = false;
      this.#onChange();
    } finally {
      this.#isAsking = false;
    }
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
