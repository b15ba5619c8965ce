// One series of a chart as two arrays of numbers: found by bisection, drawn as a line, or as one bar per pixel column.
// A pass over the visible points is linear and works on plain doubles, so that 60,000 points take about a millisecond.


/** A series, sorted by x; a missing y is NaN, where the line is broken. */
export class Curve {
  constructor({ name = "", code = "", unit = "", frequency = "", points = [] }, number) {
    Object.assign(this, { name, code, unit, frequency, number });
    let usable = points.filter((point) => Number.isFinite(point[0]));
    if (usable.some((point, at) => at > 0 && usable[at - 1][0] > point[0])) {
      usable = usable.toSorted((one, other) => one[0] - other[0]);
    }
    this.xs = Float64Array.from(usable, (point) => point[0]);
    this.ys = Float64Array.from(usable, (point) => (Number.isFinite(point[1]) ? point[1] : NaN));
  }

  get length() {
    return this.xs.length;
  }

  /** Return the place of the first point that is not before x. */
  search(x) {
    let low = 0, high = this.xs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.xs[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Return the places from which and before which points are needed to draw a span: one more on each side. */
  span(from, to) {
    let end = this.search(to);
    while (end < this.length && this.xs[end] <= to) end++;
    return [Math.max(this.search(from) - 1, 0), Math.min(end + 1, this.length)];
  }

  /** Return the lowest and the highest value of a span, and how many a logarithmic axis leaves out. */
  extent(from, to, isLog) {
    let min = Infinity, max = -Infinity, left = 0;
    for (let at = this.search(from); at < this.length && this.xs[at] <= to; at++) {
      const y = this.ys[at];
      if (isLog && y <= 0) left++;
      else {
        if (y < min) min = y;
        if (y > max) max = y;
      }
    }
    return { min, max, left };
  }

  /** Return how many points of a span there are for each pixel. */
  density(x) {
    const [start, end] = this.span(x.from, x.to);
    return (end - start) / (x(x.to) - x(x.from));
  }

  /** Call `line` with each run of points that no gap breaks, as [x, y] in pixels. */
  trace(x, y, isLog, line) {
    const [start, end] = this.span(x.from, x.to);
    let run = [];
    for (let at = start; at <= end; at++) {
      const value = at < end ? this.ys[at] : NaN;
      if (!Number.isNaN(value) && !(isLog && value <= 0)) run.push([x(this.xs[at]), y(value)]);
      else if (run.length > 0) {
        line(run);
        run = [];
      }
    }
  }

  /** Call `bar` with each pixel column and the highest and lowest y in it; bars meet unless a gap is between them. */
  columns(x, y, isLog, bar) {
    const [start, end] = this.span(x.from, x.to);
    let column = NaN, low = 0, high = 0, last = NaN;
    const flush = () => Number.isNaN(column) || bar(column, y(high), y(low));
    for (let at = start; at < end; at++) {
      const value = this.ys[at];
      if (Number.isNaN(value) || (isLog && value <= 0)) {
        last = NaN;
        continue;
      }
      const here = Math.floor(x(this.xs[at]));
      if (here !== column) {
        flush();
        column = here;
        low = Number.isNaN(last) ? value : Math.min(last, value);
        high = Number.isNaN(last) ? value : Math.max(last, value);
      } else if (value < low) low = value;
      else if (value > high) high = value;
      last = value;
    }
    flush();
  }

  /** Return the point that holds at x: the one there, or the one whose period x is in; null outside the series. */
  pointAt(x) {
    let at = this.search(x);
    if (this.xs[at] !== x) at--;
    if (at < 0) return null;
    const step = at > 0 ? this.xs[at] - this.xs[at - 1] : (this.xs[1] ?? x) - this.xs[0];
    if (at === this.length - 1 && x > this.xs[at] + step) return null;
    return { x: this.xs[at], y: this.ys[at] };
  }
}

/** Return all x of some curves, each once, in order. */
export function stopsOf(curves) {
  if (curves.length === 0) return new Float64Array();
  const [first, ...others] = curves;
  if (others.every((curve) => isSame(curve.xs, first.xs))) return unique(first.xs);
  const all = new Float64Array(curves.reduce((total, curve) => total + curve.length, 0));
  let at = 0;
  for (const curve of curves) {
    all.set(curve.xs, at);
    at += curve.length;
  }
  return unique(all.sort());
}

function isSame(one, other) {
  return one.length === other.length && one.every((value, at) => value === other[at]);
}

function unique(sorted) {
  return sorted.filter((value, at) => at === 0 || value !== sorted[at - 1]);
}
