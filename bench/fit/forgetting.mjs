// Fits chance / (1 + age / half-life) to counts by age, and tells how far its constants differ between repositories.

import { randomOf } from "../ab/tasks/random.mjs";

/** Half-lives that are tried, in calls: ten in each tenfold. */
const HALF_LIVES = Array.from({ length: 31 }, (_, step) => 10 ** (step / 10));
/** Times the repositories are drawn, with replacement. */
const DRAWS = 200;
/** Shares of the draws that have less than the ends of a spread. */
const SPREAD = [0.1, 0.9];

/** `{ chance, halfLife }` that make the `events` likeliest among what is `inView`, from the age of `least` calls on. */
export function fitted(inView, events, least = 0) {
  const total = events.reduce((sum, count, age) => (age < least ? sum : sum + count), 0);
  if (total === 0) return { chance: 0, halfLife: Number.NaN };
  const tried = HALF_LIVES.map((halfLife) => {
    let [weighed, logs] = [0, 0];
    for (let age = least; age < inView.length; age += 1) {
      const rate = 1 / (1 + age / halfLife);
      weighed += inView[age] * rate;
      logs += events[age] * Math.log(rate);
    }
    return { chance: total / weighed, halfLife, likelihood: logs - total * Math.log(weighed) };
  });
  const { chance, halfLife } = tried.reduce((best, one) => (one.likelihood > best.likelihood ? one : best));
  return { chance, halfLife };
}

/** Counts of several sessions as those of one. */
export function summed(counts) {
  const ages = Math.max(0, ...counts.map(({ inView }) => inView.length));
  const sum = (of) =>
    Float64Array.from({ length: ages }, (_, age) =>
      counts.reduce((all, one) => all + (one[of][age] ?? 0), 0),
    );
  return { inView: sum("inView"), needed: sum("needed"), awaited: sum("awaited") };
}

/** What is `fitted` to the counts of all repositories, and `{ chance, halfLife }` of the spread. */
export function fittedWithSpread(repositories, events, least) {
  const fit = (drawn) => {
    const all = summed(drawn);
    return fitted(all.inView, all[events], least);
  };
  const { of } = randomOf("spread");
  const draws = Array.from({ length: DRAWS }, () => fit(repositories.map(() => of(repositories))));
  const spread = (name) => {
    const sorted = draws
      .flatMap((draw) => (Number.isNaN(draw[name]) ? [] : draw[name]))
      .sort((a, b) => a - b);
    return SPREAD.map((share) => sorted[Math.floor(share * (sorted.length - 1))]);
  };
  return { ...fit(repositories), spread: { chance: spread("chance"), halfLife: spread("halfLife") } };
}
