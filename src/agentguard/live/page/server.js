// What is asked of the server. Whoever is not logged in any more is led to the form.

let token = null;

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? `the server answered with ${status}`);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  if (answer.status === 401) {
    location.assign("login");
    return new Promise(() => {}); // nothing goes on until the form is there
  }
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  return answer.status === 204 ? null : answer.json();
}

const post = (path, body) =>
  ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": token ?? "" },
    body: JSON.stringify(body),
  });

export async function state() {
  const found = await ask("state");
  token = found.csrf;
  return found;
}

export const queue = (after, limit) => ask(`queue?after=${after}&limit=${limit}`);

export const changes = () => ask("changes");

export const callsOf = (change) => ask(`calls?change=${encodeURIComponent(change)}`);

export const call = (sequence) => ask(`calls/${Number(sequence)}`);

export const decide = (id, state, corrects) => post("decisions", { id, state, corrects });

export const review = (sequence, wasHallucination, corrects = 0) =>
  post("reviews", { sequence, was_hallucination: wasHallucination, corrects });

export async function logOut() {
  await post("logout", {});
  location.assign("login");
}

// Connects again by itself, from the last event on, as browsers do; `lost` is called where they give up.
export function listen(position, on) {
  const source = new EventSource(`events?after=${encodeURIComponent(position)}`);
  for (const kind of ["verdict", "label", "changes", "tools", "store", "anew"]) {
    source.addEventListener(kind, (event) => on[kind](JSON.parse(event.data)));
  }
  source.addEventListener("open", () => on.open());
  source.addEventListener("error", () => (source.readyState === EventSource.CLOSED ? on.lost() : on.waiting()));
  return source;
}
