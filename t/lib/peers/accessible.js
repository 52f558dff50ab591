/* The body of a function that looks at a page as people do who see little, do not
   see colours, or use no mouse, and returns what is wrong, as lines. */

const found = [];
const seen = (e) => e.checkVisibility({ visibilityProperty: true });
const all = (selector) => [...document.querySelectorAll(selector)].filter(seen);
const text = (e) => e.textContent.replace(/\s+/g, ' ').trim();
const tell = (e, what) => found.push(`${what}: ${e.outerHTML.slice(0, 160)}`);

function name(e) {
  const by = e.getAttribute('aria-labelledby');
  return (e.getAttribute('aria-label')
    || (by && by.split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join(' '))
    || (e.labels && [...e.labels].map(text).join(' '))
    || (e.tBodies ? e.caption?.textContent : '')
    || (/^(BUTTON|A|SUMMARY)$/.test(e.tagName) ? text(e) : '') || '').trim();
}

/* Names */

for (const e of all('button, input, select, textarea, a, summary, nav, section, article, table,'
                    + ' [role=img], dialog')) {
  if (!name(e)) tell(e, 'no name');
}
for (const e of all('button[aria-label]')) {
  if (text(e) && !name(e).toLowerCase().includes(text(e).toLowerCase())) {
    tell(e, 'the name does not have what is seen');
  }
}
for (const e of all('svg:not([role=img])')) {
  if (e.getAttribute('aria-hidden') !== 'true') tell(e, 'a picture without a name or aria-hidden');
}

/* Structure */

const headings = all('h1, h2, h3, h4, h5, h6');
headings.forEach((e, i) => {
  const before = i > 0 ? Number(headings[i - 1].tagName[1]) : 0;
  if (Number(e.tagName[1]) > before + 1) tell(e, 'a level of headings is left out');
  if (!text(e)) tell(e, 'an empty heading');
});
for (const [selector, n] of [['h1', 1], ['main', 1], ['header', 1]]) {
  if (all(selector).length !== n) found.push(`there is not one ${selector}`);
}
if (!document.documentElement.lang) found.push('no language');
if (!document.title) found.push('no title');
if (/user-scalable|maximum-scale/.test(document.querySelector('meta[name=viewport]')?.content)) {
  found.push('the page cannot be enlarged');
}
if (!document.querySelector('[role=status], [aria-live=polite]')) found.push('nothing is announced');
for (const table of all('table')) {
  const columns = [...table.tHead.rows[0].cells];
  for (const th of columns) if (!th.scope || !text(th)) tell(th, 'a column without a header');
  for (const tr of table.tBodies[0].rows) {
    const n = [...tr.cells].reduce((sum, td) => sum + td.colSpan, 0);
    if (n !== columns.length) tell(tr, 'a row that does not fit its headers');
  }
}
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two of #${id}`);
for (const attribute of ['aria-controls', 'aria-labelledby', 'for']) {
  for (const e of document.querySelectorAll(`[${attribute}]`)) {
    if (!ids.includes(e.getAttribute(attribute))) tell(e, `${attribute} of nothing`);
  }
}
for (const e of document.querySelectorAll('[tabindex]')) {
  if (e.tabIndex > 0) tell(e, 'an order of its own');
}

/* Contrast, as WCAG 2 computes it */

function colour(value) {
  const numbers = value.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
  return { rgb: numbers.slice(0, 3), alpha: numbers[3] ?? 1 };
}

function over(top, below) {
  return top.rgb.map((c, i) => c * top.alpha + below[i] * (1 - top.alpha));
}

function background(e) {
  if (!e) return [255, 255, 255];
  return over(colour(getComputedStyle(e).backgroundColor), background(e.parentElement));
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(value, e) {
  const behind = background(e);
  const [a, b] = [luminance(over(colour(value), behind)), luminance(behind)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function check(e, value, least, what) {
  const is = contrast(value, e);
  if (is < least) tell(e, `${what} has a contrast of ${is.toFixed(2)}`);
}

const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const e = node.parentElement;
  if (!node.data.trim() || !seen(e) || e.closest('.unseen, script, noscript')) continue;
  const style = getComputedStyle(e);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  check(e, style.color, large ? 3 : 4.5, 'text');
}
for (const e of all('input, select, button')) {
  const style = getComputedStyle(e);
  if (parseFloat(style.borderTopWidth) > 0) check(e.parentElement, style.borderTopColor, 3, 'a border');
}
for (const e of all('input[placeholder]')) {
  check(e, getComputedStyle(e, '::placeholder').color, 4.5, 'a placeholder');
}
for (const e of all('.bars rect:not(.base), .spark path:last-child, .meter rect:last-child')) {
  const style = getComputedStyle(e);
  check(e, style.fill === 'none' ? style.stroke : style.fill, 3, 'a picture');
}

/* The focus, and the size of what is touched */

const held = document.activeElement;
const modal = document.querySelector('dialog[open]');
for (const e of all('button, input, select, a, summary')) {
  if (modal && !modal.contains(e)) continue;
  const box = e.getBoundingClientRect();
  const inline = e.matches('p a, p button, nav a, summary');
  if (!inline && (box.width < 24 || box.height < 24)) tell(e, 'too small to touch');
  e.focus({ focusVisible: true, preventScroll: true });
  const style = getComputedStyle(e);
  if (document.activeElement !== e) tell(e, 'does not take the focus');
  else if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) {
    tell(e, 'the focus is not seen');
  } else {
    check(e.parentElement, style.outlineColor, 3, 'the focus');
  }
}
held?.focus({ preventScroll: true });

return found;
