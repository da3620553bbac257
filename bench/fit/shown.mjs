// What is shown and when an answer needs it: of every item the newest copy only, by the calls that copy has been in view.

/** Counts by age in calls, of one class of items; sums are kept as differences until `settled`. */
class Counts {
  #inView = [];
  #awaited = [];
  #needed = [];

  exposed(from, to, weight) {
    add(this.#inView, from, weight);
    add(this.#inView, to + 1, -weight);
  }

  needed(from, age) {
    add(this.#needed, age, 1);
    add(this.#awaited, from, 1);
    add(this.#awaited, age + 1, -1);
  }

  settled() {
    const ages = Math.max(this.#inView.length, this.#needed.length);
    const inView = sums(this.#inView, ages);
    const awaited = sums(this.#awaited, ages);
    return {
      inView,
      needed: Float64Array.from({ length: ages }, (_, age) => this.#needed[age] ?? 0),
      awaited,
    };
  }
}

/** Items by their text. */
export class Shown {
  #items = new Map();
  #classes = new Map();

  /** How many answers needed it, as its newest copy was told; `undefined` when it is not in view. */
  uses(key) {
    return this.#items.get(key)?.uses;
  }

  /** The answer of call `now` needs it, if it is in view. */
  need(key, now) {
    const item = this.#items.get(key);
    item?.counts.needed(item.at - item.since, now - item.since);
  }

  /** A new copy, in view from call `now` on and of the class `name`; its age counts from call `since`. */
  show(key, name, { now, weight = 1, uses = 0, since = now }) {
    this.hide(key, now);
    if (!this.#classes.has(name)) this.#classes.set(name, new Counts());
    this.#items.set(key, { counts: this.#classes.get(name), weight, uses, at: now, since });
  }

  /** The call before `now` was the last that had it in view. */
  hide(key, now) {
    const item = this.#items.get(key);
    if (item === undefined) return;
    item.counts.exposed(item.at - item.since, now - 1 - item.since, item.weight);
    this.#items.delete(key);
  }

  /**
   * By class and age, with `now` calls made: items `inView`, weighed; those `needed` by the answer at that age; and those
   * `awaited`, by it or a later one, before they are shown anew.
   */
  settled(now) {
    for (const key of [...this.#items.keys()]) this.hide(key, now);
    return new Map(Array.from(this.#classes, ([name, counts]) => [name, counts.settled()]));
  }
}

function add(list, at, value) {
  while (list.length <= at) list.push(0);
  list[at] += value;
}

function sums(differences, length) {
  let sum = 0;
  return Float64Array.from({ length }, (_, at) => {
    sum += differences[at] ?? 0;
    return sum;
  });
}
