// An agent of the Vercel AI SDK whose tool result was made up: the guard blocks it, the model calls again. Offline.

import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

import { guarded, type Guard } from "./guard.js";

const guard: Guard = {
  url: process.env.AGENTGUARD_URL ?? "http://127.0.0.1:8321",
  key: process.env.AGENTGUARD_API_KEY ?? "",
  onGuardFailure: "closed",
  sessionId: "conversation-1",
};
const results = [{ answer: "nice" }, { city: "Oslo", degrees: 18 }]; // the first is made up

const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: guarded("weather", async ({ city }: { city: string }) => results.shift() ?? { city }, guard),
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const call = (id: string) => ({
  content: [{ type: "tool-call" as const, toolCallId: id, toolName: "weather", input: '{"city": "Oslo"}' }],
  finishReason: { unified: "tool-calls" as const, raw: undefined },
  usage,
  warnings: [],
});
const answer = {
  content: [{ type: "text" as const, text: "It is 18 degrees in Oslo." }],
  finishReason: { unified: "stop" as const, raw: undefined },
  usage,
  warnings: [],
};
const model = new MockLanguageModelV3({ doGenerate: [call("call-1"), call("call-2"), answer] }); // a scripted one

const run = await generateText({ model, tools: { weather }, prompt: "How warm is it in Oslo?", stopWhen: stepCountIs(5) });
for (const step of run.steps) {
  for (const result of step.toolResults) console.log("tool |", JSON.stringify(result.output));
}
console.log("ai |", run.text);
