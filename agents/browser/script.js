// A tab's side of the board: it knows its state, sends it with whatever a person does, and shows what comes back.
"use strict";

const part = (id) => document.getElementById(id);
let state = {};
let agent = null; // whose turn it is, null if it is a person's or nobody's
let stopped = false; // whether the agent has been interrupted
let waiting = null; // the request under way; the next one interrupts it
let later = 0; // what happens in a moment: an agent is asked, or a request is tried again

function interrupt() {
  waiting?.abort();
  clearTimeout(later);
}

async function turn(action, entry = "") {
  interrupt();
  if (action !== "show") stopped = false;
  const own = (waiting = new AbortController());
  try {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ action, state, entry });
    const response = await fetch("/turn", { method: "POST", headers, body, signal: own.signal });
    if (response.status === 400) return startAgain(await response.text());
    if (response.status !== 200) throw new Error(response.status);
    const reply = await response.json();
    if (!own.signal.aborted) show(reply, action);
  } catch (wrong) {
    if (own.signal.aborted) return;
    say("The board does not answer. Your moves are kept, and it is tried again.", true);
    later = setTimeout(turn, 1000, action, entry);
  }
}

function look(changes) {
  state = { ...state, ...changes };
  turn("show");
}

async function startAgain(why) {
  state = {};
  await turn("show");
  say(`There is no such game: ${why}`, true);
}

function say(status, refused = false) {
  part("status").textContent = status;
  part("status").className = refused ? "refused" : "";
  part("thinking").className = agent ? "" : "idle";
  part("thinking").textContent = stopped ? `Let ${agent} move` : "Stop";
}

function show(reply, action) {
  if (reply.board !== document.body.dataset.board) {
    // By now the server has another game.
    history.replaceState(null, "", "#");
    return location.reload();
  }
  const focused = document.activeElement;
  const inside = part("game").contains(focused);
  const typed = action === "choose" && !reply.refused ? "" : part("number")?.value || "";
  state = reply.state;
  agent = reply.thinking;
  part("game").innerHTML = reply.html;
  if (part("number")) part("number").value = typed;
  if (part("sample")) part("sample").value = state.sample;
  history.replaceState(state, "", link());
  for (const group of document.querySelectorAll(".tiles, .moves"))
    (group.querySelector('[aria-current], [aria-disabled="false"]') || group.querySelector("button")).tabIndex = 0;
  if (inside) {
    const again = part(focused.id) || document.querySelector('.tiles [tabindex="0"]');
    rove(again.disabled ? again.parentElement.querySelector("button:enabled") : again);
  }
  say(stopped ? `${agent} has been stopped.` : reply.status, reply.refused);
  // After a moment in which one sees one's own move.
  if (agent && !stopped) later = setTimeout(turn, 350, "answer");
}

function link() {
  const at = typeof state.at === "number" ? `&at=${state.at}` : "";
  const truth = state.truth ? "&truth=1" : "";
  return (part("sample") ? `#sample=${state.sample + 1}` : `#moves=${state.moves.join(",")}`) + at + truth;
}

function fromLink() {
  const linked = new URLSearchParams(location.hash.slice(1));
  const moves = (linked.get("moves") || "").split(",").filter(Boolean).map(Number);
  const at = linked.has("at") ? Number(linked.get("at")) : null;
  return { moves, at, truth: linked.has("truth"), sample: Number(linked.get("sample") || 1) - 1 };
}

function preview(tile) {
  for (const other of document.querySelectorAll(".goes")) other.classList.remove("goes");
  part("preview").textContent = tile?.dataset.preview || "";
  for (const number of tile?.dataset.takes.match(/\d+/g) || []) part(`n${number}`).classList.add("goes");
}

// One button of a group is reached with Tab, the others from it with the arrow keys.
function rove(to) {
  const group = to.closest(".tiles, .moves");
  for (const button of group?.querySelectorAll("button") || []) button.tabIndex = button === to ? 0 : -1;
  to.focus({ preventScroll: !group });
}

function neighbour(from, key) {
  const all = [...from.closest(".tiles, .moves").querySelectorAll("button")];
  const index = all.indexOf(from);
  const along = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: all.length - 1 };
  if (key in along) return all[along[key]];
  const sign = { ArrowUp: -1, ArrowDown: 1 }[key];
  const beyond = all.filter((other) => sign * (other.offsetTop - from.offsetTop) > 0);
  const far = (to) => 9999 * Math.abs(to.offsetTop - from.offsetTop) + Math.abs(to.offsetLeft - from.offsetLeft);
  return beyond.sort((one, other) => far(one) - far(other))[0];
}

const CLICKED = {
  perfect: () => look({ truth: !state.truth }),
  thinking: () => {
    if (stopped) turn("answer");
    else interrupt();
    stopped = waiting.signal.aborted;
    say(`${agent} ${stopped ? "has been stopped." : "is thinking …"}`);
  },
};

document.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  const { number, action, at } = button?.dataset || {};
  if (number && !agent) turn("choose", number);
  else if (action) turn(action);
  else if (at) look({ at: Number(at) });
  else CLICKED[button?.id]?.();
});

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!agent) turn("choose", part("number").value);
});

document.addEventListener("change", ({ target }) => {
  if (target.id === "sample") look({ sample: Number(target.value), at: 0 });
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const to = event.target.closest(".tiles, .moves") && neighbour(event.target, event.key);
  if (to) {
    event.preventDefault();
    rove(to);
  } else if (/^[0-9]$/.test(event.key) && !event.target.matches("input, select")) part("number")?.focus();
});

for (const kind of ["pointerover", "focusin"])
  part("game").addEventListener(kind, ({ target }) => preview(target.closest(".tiles .tile")));
part("game").addEventListener("pointerleave", () => preview(document.activeElement.closest(".tiles .tile")));

window.addEventListener("hashchange", () => look(fromLink()));
look(history.state || fromLink());
