// What guarded() makes of each answer of the guard, and of none: a line of JSON a case.

import { guarded, ResultBlocked, type Guard } from "./guard.js";

const { AGENTGUARD_URL = "", RAISING_URL = "", SILENT_URL = "", AGENTGUARD_API_KEY = "" } = process.env;
const problems: string[] = [];
const guard: Guard = {
  url: AGENTGUARD_URL, key: AGENTGUARD_API_KEY, onGuardFailure: "open", report: (problem) => problems.push(problem),
};
let calls = 0;

async function tell(name: string, tool: string, result: unknown, given: Partial<Guard> = {}): Promise<void> {
  let shown: unknown;
  try {
    const execute = guarded(tool, async () => result, { ...guard, ...given });
    shown = await execute({ city: "Oslo" }, { toolCallId: `call-${++calls}` });
  } catch (error) {
    shown = error instanceof ResultBlocked ? `thrown: ${error.message}` : String(error);
  }
  const same = shown === result;
  console.log(JSON.stringify({ name, same, shown: same ? null : shown, problems: problems.splice(0) }));
}

await tell("genuine", "weather", { degrees: 18, at: new Date(0) });
await tell("replaced", "weather", { answer: "nice" });
await tell("raised", "weather", { answer: "nice" }, { url: RAISING_URL });
await tell("redacted", "mail", { from: "ada@example.org" });
await tell("annotated text", "doubtful", "It is ada@example.org.");
await tell("annotated value", "doubtful", { from: "grace@example.net" });
await tell("silent, open", "weather", { degrees: 18 }, { url: SILENT_URL, timeoutMs: 50 });
await tell("silent, closed", "weather", { degrees: 18 }, { url: SILENT_URL, timeoutMs: 50, onGuardFailure: "closed" });
await tell("wrong key", "weather", { degrees: 18 }, { key: "wrong", onGuardFailure: "closed" });
await tell("no JSON", "weather", { degrees: 18n }, { onGuardFailure: "closed" });
const failing = guarded("weather", async () => { throw new Error("the tool's own"); }, guard);
console.log(JSON.stringify({ name: "thrown", shown: await failing({}, { toolCallId: "x" }).catch(String), problems }));
