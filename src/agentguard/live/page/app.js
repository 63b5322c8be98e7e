// The page: asks for the state, shows it, and listens from there on.

import * as changes from "./changes.js";
import * as feed from "./feed.js";
import * as queue from "./queue.js";
import * as server from "./server.js";
import * as tools from "./tools.js";

const AGAIN = 5000; // milliseconds
const TELL = 1500; // what came within it is told in one sentence
const connection = document.getElementById("connection");
const connectionText = document.getElementById("connection-text");
const problem = document.getElementById("problem");
const announce = document.getElementById("announce");
const logOut = document.getElementById("logout");

let source = null;
let timer = null;
let reachesStore = true;
let news = { accept: 0, flag: 0, block: 0 };

function connected(is) {
  connection.dataset.is = is === "live" && !reachesStore ? "lost" : is;
  connectionText.textContent =
    is === "lost" ? "not connected" : is === "waiting" ? "connecting" : reachesStore ? "live" : "the store cannot be read";
}

function complain(error) {
  problem.hidden = error === null;
  problem.textContent = error === null ? "" : error instanceof server.Refused ? `${error.message}.` : "The server cannot be reached.";
}

function tell(text) {
  announce.textContent = text;
}

function count(verdict) {
  news[verdict.verdict] += 1;
  timer ??= setTimeout(() => {
    timer = null;
    const total = news.accept + news.flag + news.block;
    tell(`${total} new ${total === 1 ? "verdict" : "verdicts"}: ${news.block} blocked, ${news.flag} flagged`);
    news = { accept: 0, flag: 0, block: 0 };
  }, TELL);
}

function later() {
  source?.close();
  connected("lost");
  setTimeout(begin, AGAIN);
}

const on = {
  open: () => connected("live"),
  waiting: () => connected("waiting"),
  lost: later,
  anew: () => {
    source.close();
    begin();
  },
  verdict: (verdict) => {
    queue.add(verdict);
    if (feed.add(verdict)) count(verdict);
  },
  label: (label) => {
    if (label.of === null) return;
    feed.label(label.of, label);
    queue.label(label.of);
  },
  changes: (now) => {
    queue.fold(now.rows);
    changes.show(now);
  },
  tools: (now) => {
    tools.show(now);
    queue.total(now.waiting);
  },
  store: (store) => {
    reachesStore = store.reachable;
    connected("live");
  },
};

async function begin() {
  try {
    const state = await server.state();
    reachesStore = state.reaches_store;
    document.getElementById("source").textContent = state.source;
    logOut.hidden = state.csrf === null;
    changes.begin(state.changes, { tell, complain });
    feed.begin(state.verdicts);
    tools.show(state.tools);
    queue.begin(state.queue, { tell, complain });
    source = server.listen(state.position, on);
  } catch (error) {
    complain(error);
    later();
  }
}

logOut.addEventListener("click", () => server.logOut().catch(complain));
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => event.persisted && begin());
begin();
