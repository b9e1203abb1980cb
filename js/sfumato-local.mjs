// Randomised answers for a survey, drawn where the answer is: in the browser or under Node.
//
// No dependency, no floating point: a random word of 64 bits is compared with whole numbers that
// the survey file carries. From the same words this module draws the same reports as the Python
// library; vectors.json holds examples. How each report is drawn is written down in README.md.

const WORD = 1n << 64n;

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

/** By how much two answers may change the probability of a report, for each kind of law. */
const RATIO = {
  "randomised response": ({ answers, threshold }) => odds(threshold, BigInt(answers - 1), 1n),
  "unary response": ({ held, other }) =>
    ratio(BigInt(held) * (WORD - BigInt(other)), BigInt(other) * (WORD - BigInt(held))),
  "subset response": ({ answers, size, threshold }) =>
    odds(threshold, BigInt(answers - size), BigInt(size)),
  "hadamard response": ({ threshold }) => odds(threshold, 1n, 1n),
  "hash response": ({ threshold, width }) => odds(threshold, WORD - BigInt(width), BigInt(width)),
  "matrix response": ({ ends }) => {
    const columns = ends.map((column) => {
      const whole = column.map(BigInt);
      return whole.map((end, place) => Number(end - (place ? whole[place - 1] : 0n)));
    });
    const rows = columns[0].map((_, said) => columns.map((column) => column[said]));
    return Math.max(...rows.map((row) => Math.max(...row) / Math.min(...row)));
  },
  "bit of a number": ({ least, rise }, { steps }) => {
    const [low, high] = [BigInt(least), BigInt(least) + BigInt(rise) * BigInt(steps)];
    return Math.max(ratio(high, low), ratio(WORD - low, WORD - high));
  },
  "place of a number": ({ threshold, window, steps }) =>
    odds(threshold, BigInt(steps), BigInt(window)),
};

const ratio = (above, below) => (above > 0n && below > 0n ? Number(above) / Number(below) : Infinity);

/** Return how much likelier one of the outcomes inside is than one of those outside. */
function odds(threshold, outside, inside) {
  if (outside === 0n) return 1;
  return ratio(BigInt(threshold) * outside, (WORD - BigInt(threshold)) * inside);
}

/** Return what a report of a question really costs, computed from its law alone. */
export function cost(question) {
  const found = Math.log(RATIO[question.law.kind](question.law, question));
  return Math.max(found, 0);
}

/** Refuse a question whose law costs more than the survey file says. */
function checkCost(question) {
  const [above, below] = fraction(question.epsilon);
  if (!(cost(question) <= (Number(above) / Number(below)) * (1 + 1e-9) + 1e-12)) {
    throw new RangeError(`${question.name}: a report costs more than the survey says; do not answer`);
  }
}

/** Return the number of an answer among those of a question; what was given is never shown. */
export function encode(question, answer) {
  if (question.parts) {
    let number = 0;
    for (const part of question.parts) {
      const given = answer === null || typeof answer !== "object" ? undefined : answer[part.name];
      number = number * part.answers.length + encode(part, given);
    }
    return number;
  }
  if (question.answers && !question.edges) {
    const number = question.answers.indexOf(answer);
    if (number < 0) throw new RangeError(`${question.name}: not one of the answers`);
    return number;
  }
  if (typeof answer !== "number" || Number.isNaN(answer)) {
    throw new RangeError(`${question.name}: not a number`);
  }
  if (question.edges) {
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
  const draw = DRAW[question.law.kind];
  if (!draw) throw new TypeError(`unknown law: ${question.law.kind}; update this module`);
  checkCost(question);
  const said = draw(question.law, encode(question, answer), new Choices(word));
  return question.law.named ? question.answers[said] : said;
}

/** Refuse what is no survey file of this format. */
export function check(survey) {
  if (survey?.format !== "sfumato survey 1" || !Array.isArray(survey.questions)) {
    throw new TypeError("this is not a survey file of the format 'sfumato survey 1'");
  }
}

/** A place to remember that lasts as long as the page; localStorage lasts longer. */
export function forgetful() {
  const kept = new Map();
  return { getItem: (key) => kept.get(key) ?? null, setItem: (key, text) => kept.set(key, text) };
}

/** Return the answer to a question; one of several parts looks for those itself. */
const given = (question, answers) => (question.parts ? answers : answers[question.name]);

const gcd = (a, b) => (b ? gcd(b, a % b) : a);

function fraction(text) {
  const [above, below = "1"] = String(text).split("/");
  return [BigInt(above), BigInt(below)];
}

/** Return the exact sum of two fractions such as "1/2", as text. */
export function added(left, right) {
  const [[a, b], [c, d]] = [fraction(left), fraction(right)];
  const [above, below] = [a * d + c * b, b * d];
  const common = gcd(above, below) || 1n;
  return below === common ? String(above / common) : `${above / common}/${below / common}`;
}

function exceeds(left, right) {
  const [[a, b], [c, d]] = [fraction(left), fraction(right)];
  return a * d > c * b;
}

/**
 * One person's side of surveys: what was said before, and what it cost.
 *
 * storage  where it is kept: localStorage, or anything with getItem and setItem
 * allow    the privacy loss that all reports together may reach, such as "4" or "7/2"
 */
export class Respondent {
  static KEY = "sfumato-local";

  constructor({ storage, allow }) {
    this.storage = storage;
    this.allow = String(allow);
    fraction(this.allow);
  }

  /** Return what is remembered: reports that are permanent, and what was spent. */
  get memory() {
    const text = this.storage.getItem(Respondent.KEY);
    return text ? JSON.parse(text) : { format: "sfumato memory 1", chosen: {}, reports: {}, spent: "0" };
  }

  #keep(memory) {
    this.storage.setItem(Respondent.KEY, JSON.stringify(memory));
  }

  /**
   * Return the line to send: one report for each question that is asked of this person.
   *
   * A permanent question is answered once; after that the same report is sent again, whatever the
   * answer is now, and costs nothing. Everything else is booked before it is drawn.
   */
  answer(survey, answers, word = systemWord) {
    check(survey);
    const memory = this.memory;
    const asked = this.#asked(survey, memory, word);
    const fresh = asked.filter((one) => !(one.permanent && one.id in memory.reports));
    // Whatever can be refused is refused before anything is booked.
    for (const one of fresh) {
      checkCost(one);
      encode(one, given(one, answers));
    }
    const spent = fresh.reduce((sum, one) => added(sum, one.epsilon), memory.spent);
    if (exceeds(spent, this.allow)) {
      throw new RangeError(`this would cost ${spent} in all, and ${this.allow} is allowed`);
    }
    memory.spent = spent;
    this.#keep(memory);
    const said = {};
    for (const one of asked) {
      const kept = one.permanent ? memory.reports[one.id] : undefined;
      said[one.name] = kept === undefined ? perturb(one, given(one, answers), word) : kept;
      if (one.permanent) memory.reports[one.id] = said[one.name];
    }
    this.#keep(memory);
    return JSON.stringify({ q: survey.id, r: said });
  }

  /** Return the questions that this person answers: all, or the one that chance chose for good. */
  #asked(survey, memory, word) {
    if (survey.share !== "sample") return survey.questions;
    if (!(survey.id in memory.chosen)) {
      const place = new Choices(word).uniform(BigInt(survey.questions.length));
      memory.chosen[survey.id] = survey.questions[Number(place)].name;
    }
    return survey.questions.filter((one) => one.name === memory.chosen[survey.id]);
  }
}
