// The picture of a chart: the layout of its axes for a size, and the painting of grid and curves on a canvas.

import { logTicks, numberTicks, scaleOf, timeTicks } from "./scale.js";

const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [14, 4], [5, 2, 1, 2]];
const MARGIN = 0.06;
/** From so many points per pixel on, bars are drawn: a line of so many turns takes a browser very long. */
const DENSE = 1;
/** Up to so many points per pixel, lines have dashes and round corners, which would be lost in a dense one, and slow. */
const SPARSE = 0.25;

/** Return the colours of the page as they are now, read from its variables. */
export function paletteOf(element) {
  const style = getComputedStyle(element);
  const named = (name) => style.getPropertyValue(name).trim();
  return {
    paper: named("--paper"), ink: named("--ink"), soft: named("--soft"), line: named("--line"),
    series: [1, 2, 3, 4, 5, 6].map((number) => named(`--series-${number}`)),
    sans: style.fontFamily,
  };
}

/** Return the colour, the dashes and the width of a curve: no two of the first 24 look the same. */
export function lookOf(number, palette) {
  const round = Math.floor(number / palette.series.length);
  const colour = palette.series[number % palette.series.length];
  return { colour, dashes: DASHES[(number + round) % DASHES.length], width: round ? 2.75 : 1.75 };
}

/** Return where everything of a chart stands: {x, axes, left, right, top, bottom, xTicks, leftOut}. */
export function layout({ curves, units, from, to, isTime, isLocal, isLog, width, height, fontPx, textWidth }) {
  const top = fontPx * 0.75, bottom = height - fontPx * 2;
  const size = { from, to, isLog, top, bottom, fontPx };
  const axes = units.map((unit) => axisOf(curves.filter((curve) => curve.unit === unit), unit, size));
  const room = (axis) => Math.max(...axis.ticks.map((tick) => textWidth(tick.text)), fontPx) + fontPx;
  const left = axes.length > 0 ? room(axes[0]) : fontPx;
  const right = width - (axes.length > 1 ? room(axes[1]) : fontPx);
  const x = scaleOf(from, to, left, right);
  const wide = fontPx * (isTime ? 7.5 : 6);
  const count = Math.max(1, Math.floor((right - left) / wide));
  const xTicks = isTime ? timeTicks(from, to, count, isLocal) : numberTicks(from, to, count);
  const leftOut = axes.reduce((total, axis) => total + axis.leftOut, 0);
  return { x, axes, left, right, top, bottom, xTicks, leftOut, isLog, width, height, fontPx };
}

function axisOf(curves, unit, { from, to, isLog, top, bottom, fontPx }) {
  let min = Infinity, max = -Infinity, leftOut = 0;
  for (const curve of curves) {
    const found = curve.extent(from, to, isLog);
    min = Math.min(min, found.min);
    max = Math.max(max, found.max);
    leftOut += found.left;
  }
  const isEmpty = min > max;
  const [low, high] = isEmpty ? [isLog ? 1 : 0, isLog ? 10 : 1] : isLog ? logEnds(min, max) : linearEnds(min, max);
  const count = Math.max(2, Math.floor((bottom - top) / (fontPx * 3.2)));
  const ticks = isEmpty ? [] : (isLog ? logTicks : numberTicks)(low, high, count);
  return { unit, curves, y: scaleOf(low, high, bottom, top, isLog), ticks, leftOut, isEmpty };
}

function linearEnds(min, max) {
  if (min === max) return min === 0 ? [0, 1] : [min - Math.abs(min) * 0.1, max + Math.abs(max) * 0.1];
  // Zero is shown where it is near: the height of a curve then says how large a value is.
  const low = min >= 0 && min < (max - min) * 0.5 ? 0 : min - (max - min) * MARGIN;
  const high = max <= 0 && -max < (max - min) * 0.5 ? 0 : max + (max - min) * MARGIN;
  return [low, high];
}

function logEnds(min, max) {
  const margin = min === max ? 1.5 : Math.max((max / min) ** MARGIN, 1.001);
  return [Math.max(min / margin, Number.MIN_VALUE), Math.min(max * margin, Number.MAX_VALUE)];
}

/** Paint the grid and the curves of a layout. */
export function paint(context, frame, palette) {
  const { left, right, top, bottom, axes } = frame;
  context.lineWidth = 1;
  context.setLineDash([]);
  context.strokeStyle = palette.line;
  context.beginPath();
  for (const tick of axes[0]?.ticks ?? []) {
    const y = Math.round(axes[0].y(tick.value)) + 0.5;
    context.moveTo(left, y);
    context.lineTo(right, y);
  }
  for (const tick of frame.xTicks) {
    const x = Math.round(frame.x(tick.value)) + 0.5;
    context.moveTo(x, bottom);
    context.lineTo(x, bottom + 4);
  }
  context.stroke();
  context.strokeStyle = palette.soft;
  context.beginPath();
  context.moveTo(left, bottom + 0.5);
  context.lineTo(right, bottom + 0.5);
  context.stroke();
  context.save();
  context.beginPath();
  context.rect(left, 0, right - left, bottom + 1);
  context.clip();
  for (const axis of axes) for (const curve of axis.curves) paintCurve(context, frame, axis, curve, palette);
  context.restore();
}

function paintCurve(context, frame, axis, curve, palette) {
  const look = lookOf(curve.number, palette);
  context.strokeStyle = context.fillStyle = look.colour;
  const density = curve.density(frame.x);
  if (density > DENSE) {
    const bar = (x, top, bottom) => context.fillRect(x, top - 0.6, 1.2, bottom - top + 1.2);
    curve.columns(frame.x, axis.y, frame.isLog, bar);
    return;
  }
  const isSparse = density < SPARSE;
  context.setLineDash(isSparse ? look.dashes : []);
  context.lineWidth = isSparse ? look.width : 1;
  context.lineJoin = isSparse ? "round" : "bevel";
  curve.trace(frame.x, axis.y, frame.isLog, (run) => paintRun(context, run));
  context.setLineDash([]);
}

/** Paint a line; a value alone is a dot. */
function paintRun(context, run) {
  context.beginPath();
  if (run.length === 1) {
    context.arc(...run[0], 2.5, 0, 2 * Math.PI);
    context.fill();
    return;
  }
  for (const [x, y] of run) context.lineTo(x, y);
  context.stroke();
}
