// Draw every example of vectors.json from its words, and see that the same reports come out.
import { readFileSync } from "node:fs";
import { Respondent, cost, forgetful, perturb, systemWord } from "./sfumato-local.mjs";

const path = process.argv[2] ?? new URL("vectors.json", import.meta.url);
const vectors = JSON.parse(readFileSync(path, "utf8"));
let wrong = 0;

function expect(name, found, expected) {
  if (JSON.stringify(found) === JSON.stringify(expected)) return;
  wrong += 1;
  console.error(`${name}: got ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
}

/** Return a source that hands out the words of an example, and counts them. */
function tape(words) {
  let used = 0;
  const next = () => BigInt(`0x${words[used++]}`);
  return [next, () => used];
}

let many = 0;
for (const { question, draws, cost: told } of vectors.questions) {
  if (!(Math.abs(cost(question) - told) <= 1e-9)) {
    wrong += 1;
    console.error(`${question.name}: costs ${cost(question)}, expected ${told}`);
  }
  for (const { answer, words, report } of draws) {
    const [word, used] = tape(words);
    expect(question.name, perturb(question, answer, word), report);
    expect(`${question.name}, words used`, used(), words.length);
    many += 1;
  }
}
for (const { survey, allow, waves } of vectors.surveys) {
  const someone = new Respondent({ storage: forgetful(), allow });
  for (const { answers, words, line, spent } of waves) {
    const [word, used] = tape(words);
    expect(survey.name, someone.answer(survey, answers, word), line);
    expect(`${survey.name}, words used`, used(), words.length);
    expect(`${survey.name}, spent`, someone.memory.spent, spent);
    many += 1;
  }
}
for (let trial = 0; trial < 100; trial++) {
  const word = systemWord();
  if (typeof word !== "bigint" || word < 0n || word >= 1n << 64n) wrong += 1;
}
console.log(`${many} examples, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
