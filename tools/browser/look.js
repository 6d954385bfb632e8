// Returns what is wrong with a page for those who cannot see it, see little of
// it, or have no mouse: an array of sentences.
(() => {
  const wrong = [];
  const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + ' "' + (e.textContent || e.value || '').trim().slice(0, 40) + '"';
  const shown = e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;

  if (!document.documentElement.lang) wrong.push('the page does not say its language');
  if (!document.title.trim()) wrong.push('the page has no title');
  if (document.querySelectorAll('main').length !== 1) wrong.push('the page has not exactly one main part');
  if (document.querySelectorAll('h1').length !== 1) wrong.push('the page has not exactly one h1');
  if (!document.querySelector('meta[name=viewport]')) wrong.push('the page says nothing of its width on phones');
  let level = 0;
  for (const h of document.querySelectorAll('h1,h2,h3,h4,h5,h6')) {
    const now = Number(h.tagName[1]);
    if (now > level + 1) wrong.push(`${name(h)} comes after a heading of level ${level}`);
    level = now;
  }

  const labelled = e => (e.labels && [...e.labels].some(l => l.textContent.trim())) || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.title;
  for (const e of document.querySelectorAll('input:not([type=hidden]):not([type=submit]),select,textarea'))
    if (!labelled(e)) wrong.push(`${name(e)} has no label (name ${e.name})`);
  for (const e of document.querySelectorAll('a[href],button,input[type=submit],summary'))
    if (!(e.textContent.trim() || e.value || e.getAttribute('aria-label'))) wrong.push(`${name(e)} has no text`);
  for (const e of document.querySelectorAll('img,svg'))
    if (!(e.alt !== undefined && e.hasAttribute('alt')) && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby') && e.getAttribute('aria-hidden') !== 'true')
      wrong.push(`${name(e)} has no description`);
  for (const e of document.querySelectorAll('table'))
    if (!e.querySelector('th')) wrong.push(`${name(e)} is a table without headings`);
  for (const e of document.querySelectorAll('[tabindex]'))
    if (e.tabIndex > 0) wrong.push(`${name(e)} changes the order of the tab key`);
  const ids = new Set();
  for (const e of document.querySelectorAll('[id]')) {
    if (ids.has(e.id)) wrong.push(`two elements have the id ${e.id}`);
    ids.add(e.id);
  }
  if (document.documentElement.scrollWidth > window.innerWidth)
    wrong.push(`the page is ${document.documentElement.scrollWidth} wide where ${window.innerWidth} fit`);

  // What can be used is not cut. Text may be: its title has all of it.
  for (const e of document.querySelectorAll('button,.button,a.small,input,select')) {
    if (!shown(e) || e.closest('.unseen')) continue;
    const box = e.getBoundingClientRect();
    for (let around = e.parentElement; around; around = around.parentElement) {
      if (!['hidden', 'clip'].includes(getComputedStyle(around).overflowX)) continue;
      const cut = Math.max(box.right - around.getBoundingClientRect().right, around.getBoundingClientRect().left - box.left);
      if (cut > 0.5) wrong.push(`${name(e)} is cut by ${cut.toFixed(1)} pixels`);
    }
  }

  // A word of ordinary length stands in one line, and a row of a list is not tall.
  const range = document.createRange(), texts = document.createTreeWalker(document.querySelector('main') || document.body, NodeFilter.SHOW_TEXT);
  for (let node, broken = 0; broken < 5 && (node = texts.nextNode());) {
    if (!shown(node.parentElement) || node.parentElement.closest('svg,option,.unseen')) continue;
    for (const word of node.data.matchAll(/[^\s-]{2,20}(?![^\s-])/g)) {
      if (word.index > 0 && /[^\s-]/.test(node.data[word.index - 1])) continue; // the end of a longer word
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = [...range.getClientRects()].filter(r => r.width > 0);
      if (lines.some(r => Math.abs(r.top - lines[0].top) > lines[0].height / 2)) {
        wrong.push(`"${word[0]}" is broken`);
        broken++;
      }
    }
  }
  for (const row of document.querySelectorAll('.list tbody tr')) {
    const most = getComputedStyle(row).display === 'table-row' ? 64 : 136, height = row.getBoundingClientRect().height;
    if (height > most) {
      wrong.push(`a row is ${Math.round(height)} tall: ${name(row)}`);
      break;
    }
  }

  // Contrast as WCAG 2 counts it: 4.5 for text, 3 for large text.
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const colour = text => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, ground) => [0, 1, 2].map(i => top[i] * top[3] + ground[i] * (1 - top[3])).concat(1);
  const ground = e => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(colour(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), colour('Canvas'));
  };
  const light = c => {
    const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const told = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || told.has(e) || !shown(e) || e.closest('script,style,svg,:disabled')) continue;
    told.add(e);
    const style = getComputedStyle(e), below = ground(e), text = over(colour(style.color), below);
    const [high, low] = [light(text), light(below)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) wrong.push(`${name(e)} has a contrast of ${ratio.toFixed(2)}`);
  }
  return wrong;
})()
