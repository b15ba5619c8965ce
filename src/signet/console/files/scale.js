// Scales and ticks of charts: where a value stands in pixels, which round values an axis names, how they are written.

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const CLOCK_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14].map((count) => count * DAY),
];
const MONTH_STEPS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000, 24000];
// The first of January 1970 was a Thursday: weeks are counted from the Monday after it.
const MONDAY = 4 * DAY;
const MAX_TICKS = 100;

/** Return a function from values to pixels, which knows its ends and the way back. */
export function scaleOf(from, to, start, end, isLog = false) {
  const bend = isLog ? Math.log10 : (value) => value;
  const unbend = isLog ? (value) => 10 ** value : (value) => value;
  const low = bend(from);
  const factor = (end - start) / (bend(to) - low || 1);
  const place = (value) => start + (bend(value) - low) * factor;
  return Object.assign(place, { from, to, back: (pixel) => unbend((pixel - start) / factor + low) });
}

/** Return round numbers between two values, at most about `count`, as {value, text}. */
export function numberTicks(from, to, count) {
  const rough = (to - from) / Math.max(count, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [{ value: from, text: exact(from) }];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((digit) => digit * power >= rough * 0.999) * power;
  const decimals = Math.max(0, Math.min(20, -Math.floor(Math.log10(step) + 1e-9)));
  const ticks = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9 && ticks.length < MAX_TICKS; at++) {
    const value = at * step;
    ticks.push({ value, text: Math.abs(value) >= 1e12 ? value.toExponential(2) : grouped(value.toFixed(decimals)) });
  }
  return ticks;
}

/** Return round numbers of a logarithmic axis. */
export function logTicks(from, to, count) {
  const first = Math.floor(Math.log10(from)), last = Math.ceil(Math.log10(to));
  if (Math.log10(to / from) < 0.7) return numberTicks(from, to, count).filter((tick) => tick.value > 0);
  const digits = Math.log10(to / from) <= count / 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((last - first) / count));
  const ticks = [];
  for (let power = first; power <= last; power += every) {
    for (const digit of digits) {
      const value = digit * 10 ** power;
      const isInside = value >= from * 0.999999 && value <= to * 1.000001;
      if (isInside) ticks.push({ value, text: exact(Number(value.toPrecision(1))) });
    }
  }
  return ticks;
}

/** Return round times between two times, at most `count`; days and longer are those of UTC unless the zone is local. */
export function timeTicks(from, to, count, isLocal) {
  const step = CLOCK_STEPS.find((one) => (to - from) / one <= count);
  if (step === undefined) return monthTicks(from, to, count);
  const shift = (isLocal ? zone(from) : 0) + (step % (7 * DAY) === 0 ? -MONDAY : 0);
  const ticks = [];
  for (let at = Math.ceil((from + shift) / step); at * step - shift <= to && ticks.length < MAX_TICKS; at++) {
    const value = at * step - shift;
    ticks.push({ value, text: clockText(value, step, isLocal) });
  }
  return ticks;
}

function clockText(value, step, isLocal) {
  const iso = isoText(value, isLocal);
  const isMidnight = iso.slice(11, 19) === "00:00:00";
  if (step >= DAY || isMidnight) return iso.slice(0, 10);
  return step < MINUTE ? iso.slice(11, 19) : iso.slice(11, 16);
}

function monthTicks(from, to, count) {
  const monthOf = (value) => new Date(value).getUTCFullYear() * 12 + new Date(value).getUTCMonth();
  const first = monthOf(from), last = monthOf(to);
  // Years are short: more of them fit.
  const fits = (one) => (last - first) / one <= (one % 12 ? count : count * 1.6);
  const step = MONTH_STEPS.find(fits) ?? MONTH_STEPS.at(-1);
  const ticks = [];
  for (let month = Math.ceil(first / step) * step; month <= last && ticks.length < MAX_TICKS; month += step) {
    const day = new Date(0);
    day.setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
    if (day.getTime() >= from && day.getTime() <= to) {
      ticks.push({ value: day.getTime(), text: day.toISOString().slice(0, step % 12 ? -17 : -20) });
    }
  }
  return ticks;
}

function zone(value) {
  return -new Date(value).getTimezoneOffset() * MINUTE;
}

function isoText(value, isLocal) {
  return new Date(value + (isLocal ? zone(value) : 0)).toISOString();
}

/** Return a number with all of its digits, those before the point in groups of three. */
export function exact(value) {
  const text = String(value);
  return text.includes("e") ? text : grouped(text);
}

function grouped(text) {
  const [whole, part] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
}

/** Return a time as the period that it begins, where the frequency is known; else as a day, or a local day and time. */
export function periodText(value, frequency, isLocal) {
  const iso = isoText(value, isLocal);
  const day = iso.slice(0, iso.indexOf("T"));
  const year = day.slice(0, -6), month = Number(day.slice(-5, -3));
  switch (frequency) {
    case "CY": return year;
    case "FY": return `fiscal year to ${Number(year) + 1}-03`;
    case "CH": return `${year} H${month < 7 ? 1 : 2}`;
    case "FH": return `fiscal half from ${day.slice(0, -3)}`;
    case "Q": return `${year} Q${Math.floor((month - 1) / 3) + 1}`;
    case "M": return day.slice(0, -3);
    default: return isLocal ? `${day} ${iso.slice(-13, -5)}` : day;
  }
}

/** Tell whether all times are midnights of UTC, which makes them days and not moments. */
export function areDays(values) {
  return values.every((value) => value % DAY === 0);
}
