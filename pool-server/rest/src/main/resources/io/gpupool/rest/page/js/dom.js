// SPDX-License-Identifier: Apache-2.0
// The page's elements, which Preact makes parts of the page equal to. What stays the same is left
// alone, so that focus, selection and open menus outlive an update.

import { h as element, render } from './vendor/preact.js';

/**
 * Returns an element for Preact, except that `false` removes an attribute also where its name
 * begins with `aria-` or `data-`.
 *
 * @param {string} tag
 * @param {?Object} properties
 * @param {...*} children
 * @return {!page.Element}
 */
export function h(tag, properties, ...children) {
  const given = Object.entries(properties ?? {}).filter(([, value]) => value !== false);
  return element(tag, Object.fromEntries(given), ...children);
}

/**
 * Returns an element of index.html.
 *
 * @param {string} id
 * @return {!HTMLElement}
 */
export function elementById(id) {
  return /** @type {!HTMLElement} */ (document.getElementById(id));
}

/**
 * Makes the children of a parent equal to the wanted ones.
 *
 * @param {!Element} parent
 * @param {...*} wanted
 * @return {void}
 */
export function patch(parent, ...wanted) {
  render(wanted, parent);
}
