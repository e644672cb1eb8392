// SPDX-License-Identifier: Apache-2.0
// Looks at a page for a test: finds controls by their names, and what is wrong with what is shown.

const probe = (() => {
  const LEAST_CONTRAST = 4.5;
  const CONTROLS = 'a[href], button, input, select, textarea';
  const pen = () => {
    const canvas = new OffscreenCanvas(1, 1);
    return canvas.getContext('2d', { willReadFrequently: true });
  };
  let colours;

  /** The topmost dialog is all that there is while one is open. */
  const ground = () => [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body;

  const isVisible = (element) =>
    element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) &&
    element.getClientRects().length > 0;

  const nameOf = (element) =>
    element.getAttribute('aria-label') ??
    (element.labels?.length ? element.labels[0].textContent : element.textContent).trim();

  function control(name) {
    const all = [...ground().querySelectorAll(CONTROLS)].filter(isVisible);
    return (
      all.find((element) => nameOf(element) === name) ??
      all.find((element) => nameOf(element).startsWith(name))
    );
  }

  function centre(element) {
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }

  /** Red, green, blue and opacity, 0 to 1, of any colour that CSS can say. */
  function colour(css) {
    colours ??= pen();
    colours.clearRect(0, 0, 1, 1);
    colours.fillStyle = css;
    colours.fillRect(0, 0, 1, 1);
    return [...colours.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
  }

  const over = ([r, g, b, a], [r2, g2, b2]) => [
    r * a + r2 * (1 - a),
    g * a + g2 * (1 - a),
    b * a + b2 * (1 - a),
  ];

  function backgroundOf(element) {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const layer = colour(getComputedStyle(at).backgroundColor);
      if (layer[3] > 0) {
        layers.push(layer);
      }
      if (layer[3] === 1) {
        break;
      }
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [1, 1, 1]);
  }

  function luminance(rgb) {
    const [r, g, b] = rgb.map((part) =>
      part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function contrast(element, css) {
    const behind = backgroundOf(element);
    const [light, dark] = [luminance(over(colour(css), behind)), luminance(behind)].sort(
      (a, b) => b - a,
    );
    return (light + 0.05) / (dark + 0.05);
  }

  function* texts() {
    const walker = document.createTreeWalker(ground(), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (
        walker.currentNode.data.trim() &&
        element &&
        isVisible(element) &&
        !element.closest('.hidden, .skip, noscript')
      ) {
        yield [element, walker.currentNode.data.trim()];
      }
    }
  }

  const pairs = (all) => all.flatMap((a, at) => all.slice(at + 1).map((b) => [a, b]));

  function faults() {
    const found = [];
    for (const [element, text] of texts()) {
      const ratio = contrast(element, getComputedStyle(element).color);
      if (ratio < LEAST_CONTRAST) {
        found.push(`"${text}" has a contrast of ${ratio.toFixed(2)}`);
      }
    }
    for (const input of ground().querySelectorAll('input[placeholder]')) {
      const ratio = contrast(input, getComputedStyle(input, '::placeholder').color);
      if (ratio < LEAST_CONTRAST) {
        found.push(`the placeholder "${input.placeholder}" has a contrast of ${ratio.toFixed(2)}`);
      }
    }
    const root = document.documentElement;
    if (root.scrollWidth > innerWidth) {
      const wide = [...document.querySelectorAll('*')].filter(
        (element) => element.getBoundingClientRect().right > innerWidth + 0.5,
      );
      found.push(
        `the page is ${root.scrollWidth} wide in ${innerWidth}: ${wide.slice(0, 5).map((element) => `${element.localName}.${element.className}`)}`,
      );
    }
    const dialog = ground();
    if (dialog.localName === 'dialog' && dialog.scrollWidth > dialog.clientWidth) {
      found.push('the dialog scrolls sideways');
    }
    for (const [a, b] of pairs(
      [...ground().querySelectorAll(CONTROLS)].filter(
        (element) => isVisible(element) && !element.closest('header.bar, .skip, .notices'),
      ),
    )) {
      const [first, second] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
      if (
        Math.min(first.right, second.right) - Math.max(first.left, second.left) > 1 &&
        Math.min(first.bottom, second.bottom) - Math.max(first.top, second.top) > 1
      ) {
        found.push(`"${nameOf(a)}" lies over "${nameOf(b)}"`);
      }
    }
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    ids
      .filter((id, at) => ids.indexOf(id) !== at)
      .forEach((id) => found.push(`the id ${id} is there twice`));
    for (const name of ['for', 'aria-labelledby', 'aria-describedby']) {
      document.querySelectorAll(`[${name}]`).forEach((element) => {
        if (!document.getElementById(element.getAttribute(name))) {
          found.push(`${name}="${element.getAttribute(name)}" leads nowhere`);
        }
      });
    }
    if (document.querySelectorAll('h1').length !== 1) {
      found.push(`there are ${document.querySelectorAll('h1').length} h1`);
    }
    if (!root.lang || !document.title || !document.querySelector('main')) {
      found.push('the page has no language, no title or no main part');
    }
    return found;
  }

  /** Whether the control with the focus is drawn otherwise than without. */
  function showsFocus() {
    const style = getComputedStyle(document.activeElement);
    return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  }

  // While the page is loaded anew there is none.
  const text = () => document.body?.innerText ?? '';
  return { control, centre, faults, showsFocus, text };
})();
