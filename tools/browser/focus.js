// Returns what has the focus: its place in the document, its name, and whether one
// can see that it has the focus. The place is empty at the end of the page.
(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return { path: '', name: '', shown: true };
  let path = '';
  for (let n = e; n.parentElement; n = n.parentElement) path = '/' + [...n.parentElement.children].indexOf(n) + path;
  const style = getComputedStyle(e);
  const shown = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none';
  return { path, name: e.tagName.toLowerCase() + ' ' + (e.textContent.trim() || e.name || e.value || '').slice(0, 40), shown };
})()
