// SPDX-License-Identifier: Apache-2.0
// The page's elements, which Preact makes parts of the page equal to. What stays the same is left
// alone, so that focus, selection and open menus outlive an update.

import { h as element, render } from './vendor/preact.js';

/**
 * An element to be, as Preact has it, but for one thing: `false` means that an attribute is not
 * there, also where it begins with `aria-` or `data-`.
 */
export function h(tag, properties, ...children) {
  const given = Object.entries(properties ?? {}).filter(([, value]) => value !== false);
  return element(tag, Object.fromEntries(given), ...children);
}

/** Makes the children of a parent equal to the wanted ones. */
export function patch(parent, ...wanted) {
  render(wanted, parent);
}
