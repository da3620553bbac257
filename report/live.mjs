// A copy of the host's record, fetched again after each change.

const PAUSE_MS = 200;

export class Live {
  isConnected = false;
  calls = [];
  messages = { role: [], tool: [], tokens: [] };
  stretches = [];
  changes = [];
  /** Number of the newest change known; the host answers null until there is a newer one. */
  revision = -1;
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
    const answer = await fetch(`state?revision=${this.revision}`)
      .then((response) => response.json())
      .catch(() => undefined);
    this.isConnected = answer !== undefined;
    Object.assign(this, answer);
    setTimeout(() => this.#ask(), PAUSE_MS);
    if (answer || this.isConnected !== wasConnected) this.#onChange();
  }
}
