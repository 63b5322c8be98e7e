// Verdicts as they come, the newest first. Paused, nothing moves; what came meanwhile is put in when it goes on.

import { entry } from "./details.js";
import { labelTag } from "./elements.js";

const SHOWN = 100;
const list = document.getElementById("feed");
const empty = document.getElementById("feed-empty");
const pause = document.getElementById("pause");
const held = document.getElementById("held");

let waiting = [];
let missed = 0;

const isPaused = () => pause.getAttribute("aria-pressed") === "true";
const itemOf = (sequence) => list.querySelector(`li[data-sequence="${Number(sequence)}"]`);

function put(verdict, isNew) {
  if (itemOf(verdict.sequence) !== null) return;
  list.prepend(entry(verdict, isNew));
  while (list.children.length > SHOWN) list.lastElementChild.remove();
  empty.hidden = true;
}

export function begin(verdicts) {
  waiting = [];
  missed = 0;
  held.textContent = "";
  list.replaceChildren(...verdicts.map((verdict) => entry(verdict)));
  empty.hidden = verdicts.length > 0;
}

// Whether it is to be seen now.
export function add(verdict) {
  if (!isPaused()) {
    put(verdict, true);
    return true;
  }
  missed += 1;
  waiting = [...waiting.slice(1 - SHOWN), verdict];
  held.textContent = `${missed.toLocaleString("en")} came meanwhile`;
  return false;
}

export function label(of, said) {
  waiting = waiting.map((verdict) => (verdict.sequence === of ? { ...verdict, label: said } : verdict));
  const line = itemOf(of)?.querySelector(".line");
  if (line === null || line === undefined) return;
  line.querySelector(".label")?.remove();
  line.append(labelTag(said));
}

pause.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!isPaused()));
  if (isPaused()) return;
  for (const verdict of waiting) put(verdict, true);
  waiting = [];
  missed = 0;
  held.textContent = "";
});
