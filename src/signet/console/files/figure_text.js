// Figures as people read them: counts, shares, durations and times, with few digits.

const NUMBERS = new Intl.NumberFormat("en");
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** What stands where there is no figure. */
export const NONE = "–";

export function countText(count) {
  return NUMBERS.format(count);
}

/** Write a share of a whole in percent: 0.4 %, 12 %. */
export function shareText(part, whole) {
  if (!whole) return NONE;
  const percent = (100 * part) / whole;
  return `${percent === 0 || percent >= 9.95 ? Math.round(percent) : percent.toPrecision(2)} %`;
}

/** Write milliseconds: 0.04 ms, 12 ms, 1.5 s. */
export function msText(ms) {
  if (ms === null) return NONE;
  return ms < 999.5 ? `${digits(ms)} ms` : secondsText(ms / 1000);
}

export function secondsText(seconds) {
  return `${digits(seconds)} s`;
}

export function clockText(ms) {
  return ms === null ? NONE : CLOCK.format(ms);
}

function digits(number) {
  if (number === 0) return "0";
  return number >= 99.5 ? NUMBERS.format(Math.round(number)) : String(Number(number.toPrecision(2)));
}
