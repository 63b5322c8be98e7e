// Tools of an agent, guarded by `agentguard serve --verify`. It needs nothing but fetch: copy it into your project.

export interface Guard {
  url: string; // of the server: http://127.0.0.1:8321
  key: string; // its AGENTGUARD_API_KEY
  /** The guard fails, or does not answer in time: hand the result on (open), or withhold it (closed). */
  onGuardFailure: "open" | "closed";
  timeoutMs?: number; // for the guard's answer; 2,000 unless said
  sessionId?: string; // calls of one conversation are held against each other
  report?: (problem: string) => void; // is told of the guard's failures, without content; console.error unless said
}

/** The answer of POST /v1/verify; see GET /openapi.json. */
export interface Verdict {
  verdict: "accept" | "flag" | "block" | null;
  posterior: number | null;
  action: "pass" | "observe" | "annotate" | "replace" | "raise";
  line: string;
  notice: string;
  hazard: string;
  explanation: string;
  fired: { name: string; detail: string }[];
  change: string | null;
  result?: unknown; // only where the result must not be shown as it came
}

export class ResultBlocked extends Error {
  constructor(readonly tool: string, readonly verdict: Verdict) {
    super(verdict.notice);
    this.name = "ResultBlocked";
  }
}

/** Guard the `execute` of a tool; what it throws itself passes through and is not judged. */
export function guarded<Input, Output>(
  tool: string,
  execute: (input: Input, options: { toolCallId: string }) => PromiseLike<Output> | Output,
  guard: Guard,
): (input: Input, options: { toolCallId: string }) => Promise<Output | string> {
  return async (input, options) => {
    const began = performance.now();
    const result = await execute(input, options);
    const took = performance.now() - began;
    const call = {
      tool, args: input, result, execution_time_ms: took, session_id: guard.sessionId, call_id: options.toolCallId,
    };
    let verdict: Verdict;
    try {
      verdict = await post<Verdict>(guard, "/v1/verify", call);
    } catch (error) {
      // A message of JSON.stringify or of fetch could quote the call: its kind is told alone.
      const why = error instanceof GuardFailed ? error.message : error instanceof Error ? error.name : "unknown";
      (guard.report ?? console.error)(`agentguard: a result of ${tool} could not be verified (${why})`);
      if (guard.onGuardFailure === "open") return result;
      return `The result of '${tool}' could not be verified and was withheld. Do not guess it; say that it is missing.`;
    }
    if (verdict.action === "raise") throw new ResultBlocked(tool, verdict);
    const shown = "result" in verdict ? (verdict.result as Output | string) : result;
    if (verdict.action !== "annotate") return shown;
    return `${typeof shown === "string" ? shown : JSON.stringify(shown)}\n\n${verdict.line}`;
  };
}

class GuardFailed extends Error {}

async function post<Answer>(guard: Guard, path: string, body: object): Promise<Answer> {
  const response = await fetch(guard.url + path, {
    method: "POST",
    redirect: "error", // the key is for this server alone
    headers: { "Content-Type": "application/json", "X-API-Key": guard.key },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(guard.timeoutMs ?? 2_000),
  });
  if (!response.ok) throw new GuardFailed(`status ${response.status}`);
  return (await response.json()) as Answer;
}
