// Randomised answers for a survey, drawn where the answer is: in the browser or under Node.
//
// No dependency, no floating point: a random word of 64 bits is compared with whole numbers that
// the survey file carries. From the same words this module draws the same reports as the Python
// library; vectors.json holds examples. How each report is drawn is written down in README.md.
//
// It never trusts the survey file: a law that is not one for all answers of its question, or that
// costs more than the file says, is refused before anything is drawn.

const WORD = 1n << 64n;
/** Bits after the point where an exponential is compared with a ratio of whole numbers. */
const PRECISION = 256n;
/** No ratio of two probabilities out of 2^64 reaches e to this power. */
const LARGEST = 128n;

const MEMORY = "sfumato memory 1";
const SHARES = ["split", "sample", "joint"];

/** Return a random word of 64 bits from the system. */
export function systemWord() {
  const halves = globalThis.crypto.getRandomValues(new Uint32Array(2));
  return (BigInt(halves[0]) << 32n) | BigInt(halves[1]);
}

/** The three choices of which every report is made. Each takes words in a fixed order. */
class Choices {
  constructor(word) {
    this.word = word;
  }

  /** Return true with probability threshold / 2^64. */
  coin(threshold) {
    return this.word() < threshold;
  }

  /** Return one of 0, …, bound − 1, all alike: the remainder of the first word up to the fence. */
  uniform(bound) {
    const fence = WORD - (WORD % bound) - 1n;
    let word = this.word();
    while (word > fence) word = this.word();
    return word % bound;
  }

  /** Return i with probability (ends[i] − ends[i − 1]) / 2^64. */
  piece(ends) {
    const word = this.word();
    return ends.findIndex((end) => word < end);
  }
}

function parity(number) {
  let odd = false;
  for (let rest = number; rest; rest &= rest - 1n) odd = !odd;
  return odd;
}

const hex = (word) => word.toString(16).padStart(16, "0");

/** How a report is drawn, for each kind of law: (law, value, choices) → report. */
const DRAW = {
  "randomised response"(law, value, choices) {
    if (law.answers === 1 || choices.coin(BigInt(law.threshold))) return value;
    const other = Number(choices.uniform(BigInt(law.answers - 1)));
    return other + (other >= value ? 1 : 0);
  },

  "unary response"(law, value, choices) {
    const [held, other] = [BigInt(law.held), BigInt(law.other)];
    let said = "";
    for (let answer = 0; answer < law.answers; answer++) {
      said += choices.coin(answer === value ? held : other) ? "1" : "0";
    }
    return said;
  },

  "subset response"(law, value, choices) {
    const held = law.size === law.answers || choices.coin(BigInt(law.threshold));
    const others = law.answers - 1;
    const chosen = new Set();
    for (let last = others - law.size + (held ? 1 : 0); last < others; last++) {
      const drawn = Number(choices.uniform(BigInt(last + 1)));
      chosen.add(chosen.has(drawn) ? last : drawn);
    }
    const named = [...chosen].map((other) => other + (other >= value ? 1 : 0));
    if (held) named.push(value);
    return named.sort((here, there) => here - there);
  },

  "hadamard response"(law, value, choices) {
    const speaks = choices.coin(BigInt(law.threshold));
    const row = BigInt(value + 1);
    const rest = choices.uniform(BigInt(law.order / 2));
    const lowest = row & -row;
    const below = rest & (lowest - 1n);
    const number = ((rest - below) << 1n) | below;
    return Number(!parity(row & number) === speaks ? number : number | lowest);
  },

  "hash response"(law, value, choices) {
    const width = BigInt(law.width);
    const step = choices.uniform(WORD);
    const inside = choices.coin(BigInt(law.threshold));
    const place = inside ? choices.uniform(width) : width + choices.uniform(WORD - width);
    return hex(step) + hex(BigInt.asUintN(64, place - step * BigInt(value)));
  },

  "matrix response"(law, value, choices) {
    return choices.piece(law.ends[value].map(BigInt));
  },

  "bit of a number"(law, value, choices) {
    return Number(choices.coin(BigInt(law.least) + BigInt(law.rise) * BigInt(value)));
  },

  "place of a number"(law, value, choices) {
    if (choices.coin(BigInt(law.threshold))) {
      return value + Number(choices.uniform(BigInt(law.window)));
    }
    const other = Number(choices.uniform(BigInt(law.steps)));
    return other < value ? other : other + law.window;
  },
};

/** Refuse what a condition does not hold for. */
function must(holds, why) {
  if (!holds) throw new RangeError(why);
}

const isCount = (number) => Number.isSafeInteger(number) && number >= 1;
const isReal = (number) => typeof number === "number" && Math.abs(number) <= 1e300;
const isText = (text) => typeof text === "string";
const areNames = (names) => Array.isArray(names) && names.every(isText);
const isObject = (found) => typeof found === "object" && found !== null && !Array.isArray(found);
const isListed = (part) => isObject(part) && part.answers !== undefined && part.parts === undefined;
const isNumber = (question) => question.answers === undefined && question.parts === undefined;

/** Return how many numbers `encode` can make of an answer, if the question is whole. */
export function inputs(question) {
  const { parts, answers, edges, low, high, steps } = question;
  const why = "the question is not whole";
  if (parts !== undefined) {
    must(Array.isArray(parts) && parts.length > 0 && parts.every(isListed), why);
    return parts.reduce((many, part) => many * inputs(part), 1);
  }
  if (answers === undefined) {
    must(isReal(low) && isReal(high) && low < high && isCount(steps), why);
    return steps + 1;
  }
  must(areNames(answers) && answers.length > 0 && new Set(answers).size === answers.length, why);
  if (edges !== undefined) {
    must(Array.isArray(edges) && edges.length === answers.length + 1 && edges.every(isReal), why);
    must(edges.every((edge, place) => place === 0 || edges[place - 1] < edge), why);
  }
  return answers.length;
}

/** Return a whole number that is given as text, if it lies where it must. */
function whole(text, least, most) {
  const found = isText(text) && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : -1n;
  const inside = least <= found && found <= most;
  must(inside, `a whole number of a law is not one from ${least} to ${most}`);
  return found;
}

/** Return a threshold: a share of 2^64 that is neither nothing nor all. */
const share = (text) => whole(text, 1n, WORD - 1n);

/** Return how likely one of the outcomes inside is against one of those outside. */
const odds = (threshold, outside, inside) => [
  share(threshold) * BigInt(outside),
  (WORD - share(threshold)) * BigInt(inside),
];

/** Return the weights of a matrix whose columns all share out 2^64 among the same reports. */
function pieces(ends, columns) {
  const even = Array.isArray(ends) && ends.length === columns && ends.every(Array.isArray);
  must(even, "the matrix does not have a column for each answer");
  return ends.map((column) => {
    const equal = column.length > 0 && column.length === ends[0].length;
    must(equal, "the columns of the matrix are not equally long");
    const found = column.map((end) => whole(end, 0n, WORD));
    const weights = found.map((end, place) => end - (place ? found[place - 1] : 0n));
    const rises = found.at(-1) === WORD && weights.every((weight) => weight >= 0n);
    must(rises, "a column of the matrix does not rise to 2^64");
    return weights;
  });
}

const greatest = (numbers) => numbers.reduce((best, one) => (one > best ? one : best));
const least = (numbers) => numbers.reduce((best, one) => (one < best ? one : best));

const MISFIT = "the law is not one for the answers";

/**
 * The ratios of the probabilities of a report, for any two of `many` answers, as whole numbers.
 *
 * A law that is not one for exactly those answers is refused: what its numbers say would not be
 * what is drawn.
 */
const RATIOS = {
  "randomised response"({ answers, threshold }, many) {
    must(answers === many, MISFIT);
    return many > 1 ? [odds(threshold, many - 1, 1)] : [];
  },
  "unary response"(law, many) {
    must(law.answers === many, MISFIT);
    const [held, other] = [share(law.held), share(law.other)];
    return [[held * (WORD - other), other * (WORD - held)]];
  },
  "subset response"({ answers, size, threshold }, many) {
    must(answers === many && isCount(size) && size <= many, MISFIT);
    return size < many ? [odds(threshold, many - size, size)] : [];
  },
  "hadamard response"({ order, threshold }, many) {
    must(isCount(order) && order > many && (BigInt(order) & BigInt(order - 1)) === 0n, MISFIT);
    return [odds(threshold, 1, 1)];
  },
  "hash response"({ width, threshold }) {
    return [odds(threshold, WORD - share(width), share(width))];
  },
  "matrix response"({ ends }, many) {
    const columns = pieces(ends, many);
    const rows = columns[0].map((_, said) => columns.map((column) => column[said]));
    return rows.map((row) => [greatest(row), least(row)]).filter(([most]) => most > 0n);
  },
  "bit of a number"(law, many, question) {
    must(isNumber(question), MISFIT);
    const low = share(law.least);
    const high = low + whole(law.rise, 0n, WORD) * BigInt(question.steps);
    must(high < WORD, MISFIT);
    return [
      [high, low],
      [WORD - low, WORD - high],
    ];
  },
  "place of a number"({ steps, window, threshold }, many, question) {
    must(isNumber(question) && steps === question.steps, MISFIT);
    must(isCount(window) && Number.isSafeInteger(steps + window), MISFIT);
    return [odds(threshold, steps, window)];
  },
};

/** Return the ratios of a question: the larger number of each, then the smaller. */
function ratios(question) {
  const many = inputs(question);
  must(Number.isSafeInteger(many), MISFIT);
  const found = RATIOS[question.law.kind](question.law, many, question);
  // Two-sided: a report that is rarer where it is true tells as much.
  return found.map((pair) => [greatest(pair), least(pair)]);
}

/** Return what a report of a question really costs, computed from its law alone. */
export function cost(question) {
  const found = ratios(question).map(([above, below]) =>
    below === 0n ? Infinity : Math.log(Number(above) / Number(below)),
  );
  return Math.max(0, ...found);
}

/**
 * Return a whole number just below e^ε · 2^256, or below e^128 · 2^256 if ε is larger.
 *
 * All terms of the series are positive and everything is rounded down.
 */
function exponentialBelow([above, below]) {
  const large = above > LARGEST * below;
  const power = large ? 1n << PRECISION : (above << PRECISION) / (below * LARGEST);
  let term = 1n << PRECISION;
  let total = term;
  for (let place = 1n; term; place++) {
    term = ((term * power) >> PRECISION) / place;
    total += term;
  }
  for (let square = 1n; square < LARGEST; square *= 2n) total = (total * total) >> PRECISION;
  return total;
}

/** Whether every report has a name, where reports are told by their names. */
function nameable({ law, answers }) {
  if (law.named === undefined) return true;
  const many = { "randomised response": law.answers, "matrix response": law.ends?.[0].length };
  if (law.named !== true || !Object.hasOwn(many, law.kind)) return false;
  return areNames(answers) && answers.length === many[law.kind];
}

/** Refuse a question whose law does not fit it, or costs more than the survey file says. */
export function checkCost(question) {
  const { name, law } = question;
  if (!isObject(law) || !isText(law.kind) || !Object.hasOwn(DRAW, law.kind)) {
    throw new TypeError(`${name}: unknown law; update this module, and do not answer till then`);
  }
  let [found, bound] = [[], 0n];
  try {
    [found, bound] = [ratios(question), exponentialBelow(fraction(question.epsilon))];
  } catch (error) {
    throw new RangeError(`${name}: ${error.message}; do not answer`);
  }
  must(nameable(question), `${name}: its reports have no names; do not answer`);
  const within = found.every(([above, below]) => above << PRECISION <= below * bound);
  must(within, `${name}: a report costs more than the survey says; do not answer`);
}

/** Return the number of an answer among those of a question; what was given is never shown. */
export function encode(question, answer) {
  if (question.parts !== undefined) {
    let number = 0;
    for (const part of question.parts) {
      number = number * part.answers.length + encode(part, own(answer, part.name));
    }
    return number;
  }
  if (question.answers !== undefined && question.edges === undefined) {
    const number = question.answers.indexOf(answer);
    if (number < 0) throw new RangeError(`${question.name}: not one of the answers`);
    return number;
  }
  if (typeof answer !== "number" || Number.isNaN(answer)) {
    throw new RangeError(`${question.name}: not a number`);
  }
  if (question.edges !== undefined) {
    // Range i reaches from one edge up to the next; what lies beyond counts as the first or last.
    return question.edges.slice(1, -1).filter((edge) => answer >= edge).length;
  }
  const share = (answer - question.low) / (question.high - question.low);
  return Math.min(Math.max(Math.floor(share * question.steps + 0.5), 0), question.steps);
}

/**
 * Return the report of one answer.
 *
 * question  one of survey.questions
 * answer    the true answer; it leaves this function only randomised
 * word      returns the next random word as a BigInt below 2^64; the system's by default
 */
export function perturb(question, answer, word = systemWord) {
  checkCost(question);
  const said = DRAW[question.law.kind](question.law, encode(question, answer), new Choices(word));
  return question.law.named ? question.answers[said] : said;
}

/** Refuse what is no survey file of this format, or costs more than it says. */
export function check(survey) {
  if (survey?.format !== "sfumato survey 1") {
    throw new TypeError("this is not a survey file of the format 'sfumato survey 1'");
  }
  const { id, share: shared, questions } = survey;
  const listed = Array.isArray(questions) && questions.length > 0 && questions.every(isQuestion);
  const sound = isText(id) && SHARES.includes(shared) && listed;
  must(sound, "the survey file is not whole; do not answer");
  const names = new Set(questions.map(({ name }) => name));
  must(names.size === questions.length, "two questions of the survey have one name; do not answer");
  questions.forEach(checkCost);
  const costs = questions.map(({ epsilon }) => epsilon);
  const dearest = (left, right) => (exceeds(left, right) ? left : right);
  const booked = costs.reduce(shared === "sample" ? dearest : added, "0");
  must(
    !exceeds(booked, survey.epsilon, 4000, 300),
    "the questions cost more than the survey says in all; do not answer",
  );
}

const isQuestion = (one) =>
  isObject(one) && isText(one.id) && isText(one.name) && typeof one.permanent === "boolean";

/** A place to remember that lasts as long as the page; localStorage lasts longer. */
export function forgetful() {
  const kept = new Map();
  return { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
}

/** Return what an object itself holds under a name: nothing that every object has. */
const own = (object, name) =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

/** Return an object with one entry more, whatever its name is. */
const withEntry = (object, name, value) =>
  Object.fromEntries([...Object.entries(object), [name, value]]);

/** Return the answer to a question; one of several parts looks for those itself. */
const given = (question, answers) =>
  question.parts === undefined ? own(answers, question.name) : answers;

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

/** Return a fraction such as "1/2" as two whole numbers; nothing else is one. */
function fraction(text, digits = 300) {
  const form = new RegExp(`^([0-9]{1,${digits}})(?:/([0-9]{1,${digits}}))?$`);
  const found = isText(text) ? form.exec(text) : null;
  const [above, below] = found ? [BigInt(found[1]), BigInt(found[2] ?? "1")] : [0n, 0n];
  must(below > 0n, "a privacy loss must be a fraction such as '1/2', given as text");
  return [above, below];
}

/** Return the exact sum of two fractions such as "1/2", as text. */
export function added(left, right) {
  const [[a, b], [c, d]] = [fraction(left, 4000), fraction(right, 4000)];
  const [above, below] = [a * d + c * b, b * d];
  const common = gcd(above, below);
  return below === common ? String(above / common) : `${above / common}/${below / common}`;
}

function exceeds(left, right, leftDigits = 4000, rightDigits = 4000) {
  const [[a, b], [c, d]] = [fraction(left, leftDigits), fraction(right, rightDigits)];
  return a * d > c * b;
}

/**
 * One person's side of surveys: what was said before, and what it cost.
 *
 * storage  where it is kept: localStorage, or anything with getItem and setItem
 * allow    the privacy loss that all reports together may reach, such as "4" or "7/2"
 * locks    what keeps other tabs away meanwhile: navigator.locks of the browser
 */
export class Respondent {
  static KEY = "sfumato-local";

  constructor({ storage, allow, locks = globalThis.navigator?.locks }) {
    this.storage = storage;
    this.allow = String(allow);
    this.locks = locks;
    fraction(this.allow);
  }

  /** Return what is remembered: reports that are permanent, and what was spent. */
  get memory() {
    const text = this.storage.getItem(Respondent.KEY);
    if (text === null || text === undefined) {
      return { format: MEMORY, chosen: {}, reports: {}, spent: "0" };
    }
    let memory;
    try {
      memory = JSON.parse(text);
      fraction(memory.spent, 4000);
      must(memory.format === MEMORY && isObject(memory.chosen) && isObject(memory.reports), "");
    } catch {
      throw new TypeError(
        `the storage does not hold what this client remembers (${MEMORY}); nothing was sent`,
      );
    }
    return memory;
  }

  #keep(memory) {
    const text = JSON.stringify(memory);
    this.storage.setItem(Respondent.KEY, text);
    // A storage that forgets, or another tab that writes meanwhile: nothing may be drawn then.
    const kept = this.storage.getItem(Respondent.KEY) === text;
    must(kept, "the storage does not keep what is written; nothing was sent");
  }

  /**
   * Return the promise of the line to send, while no other tab answers with the same storage.
   *
   * Two tabs at once would book, and draw, past each other. The arguments are those of `answer`.
   */
  async answerAlone(survey, answers, word = systemWord) {
    if (!this.locks) {
      throw new TypeError(
        "there is no navigator.locks here (it needs https); where no other tab or program uses " +
          "this storage, call answer",
      );
    }
    return this.locks.request(Respondent.KEY, () => this.answer(survey, answers, word));
  }

  /**
   * Return the line to send: one report for each question that is asked of this person.
   *
   * A permanent question is answered once; after that the same report is sent again, whatever the
   * answer is now, and costs nothing. Everything else is booked before it is drawn. Every question
   * needs an answer, whichever is drawn, except permanent ones that were answered.
   */
  answer(survey, answers, word = systemWord) {
    check(survey);
    const memory = this.memory;
    const isFresh = (one) => !(one.permanent && Object.hasOwn(memory.reports, one.id));
    // What a person may have left out must not depend on what chance draws next.
    for (const one of survey.questions.filter(isFresh)) encode(one, given(one, answers));
    const asked = this.#asked(survey, memory, word);
    const fresh = new Set(asked.filter(isFresh));
    const spent = [...fresh].reduce((sum, one) => added(sum, one.epsilon), memory.spent);
    if (exceeds(spent, this.allow)) {
      throw new RangeError(`this would cost ${spent} in all, and ${this.allow} is allowed`);
    }
    memory.spent = spent;
    this.#keep(memory);
    const said = [];
    for (const one of asked) {
      const kept = own(memory.reports, one.id);
      const report = fresh.has(one) ? perturb(one, given(one, answers), word) : kept;
      said.push([one.name, report]);
      if (one.permanent) memory.reports = withEntry(memory.reports, one.id, report);
    }
    this.#keep(memory);
    return JSON.stringify({ q: survey.id, r: Object.fromEntries(said) });
  }

  /** Return the questions that this person answers: all, or the one that chance chose for good. */
  #asked(survey, memory, word) {
    if (survey.share !== "sample") return survey.questions;
    if (!Object.hasOwn(memory.chosen, survey.id)) {
      const place = new Choices(word).uniform(BigInt(survey.questions.length));
      const { name } = survey.questions[Number(place)];
      memory.chosen = withEntry(memory.chosen, survey.id, name);
      // Kept at once: a choice made anew after a refusal would ask another question.
      this.#keep(memory);
    }
    const asked = survey.questions.filter((one) => one.name === memory.chosen[survey.id]);
    must(asked.length === 1, "the question that was drawn before is none of this survey");
    return asked;
  }
}
