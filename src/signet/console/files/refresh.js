// Asks again every few seconds, while somebody looks: not while the tab is hidden, not while it is paused.

const EVERY_MS = 3000;

/** Call a function of a promise at once and again and again; return {pause(isPaused), stop()}. */
export function refresh(ask) {
  let timer = 0;
  let isPaused = false;
  let isStopped = false;
  let isAsking = false;

  async function turn() {
    clearTimeout(timer);
    if (isStopped || isPaused || isAsking || document.hidden) return;
    isAsking = true;
    await ask();
    isAsking = false;
    if (!isStopped) timer = setTimeout(turn, EVERY_MS);
  }

  document.addEventListener("visibilitychange", turn);
  turn();
  return {
    pause(wanted) {
      isPaused = wanted;
      turn();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", turn);
    },
  };
}
