// One transcript on trial: with and without the hook to the same provider, and what is held against the hook.

import { createTransformContext } from "../../../index.js";
import { introduced, judge } from "./judge.mjs";

/** A request to `author` as it would be without the hook. */
export class Trial {
  #wire;
  #author;
  #messages;
  #unedited;

  /** @param author `{ api, provider, model, thinks }` of the model the request goes to */
  static async open(wire, author, messages) {
    const trial = new Trial();
    trial.#wire = wire;
    trial.#author = author;
    trial.#messages = messages;
    trial.#unedited = await wire.payloadOf(author, messages);
    return trial;
  }

  /** True if the provider would object without the hook. */
  get isFlawed() {
    return judge(this.#author.api, this.#unedited, this.#unedited).length > 0;
  }

  /**
   * `{ isChanged, objections }`: whether the hook changed the transcript, and the objections it brought in.
   *
   * @param messages what the hook gets; a damaged form of the transcript, where it is to mend that
   */
  async of(options, messages = this.#messages) {
    const failures = [];
    const onEvent = (event) => event.type === "failed" && failures.push(`failed: ${event.code}`);
    const edited = await createTransformContext({ ...options, onEvent })(messages);
    const isChanged = edited !== messages;
    const payload =
      edited !== this.#messages ? await this.#wire.payloadOf(this.#author, edited) : this.#unedited;
    const objections = [...failures, ...introduced(this.#author.api, payload, this.#unedited)];
    return { isChanged, objections };
  }
}

/** The trial in words, for a line in the test's report. */
export class Tally {
  bodies = 0;
  changed = 0;
  flawed = 0;

  add({ isFlawed }, { isChanged }) {
    this.bodies += 1;
    this.changed += isChanged ? 1 : 0;
    this.flawed += isFlawed ? 1 : 0;
  }

  toString() {
    const { bodies, changed, flawed } = this;
    return `${bodies} bodies, ${changed} changed by the hook, 0 violations; ${flawed} flawed by pi alone`;
  }
}
