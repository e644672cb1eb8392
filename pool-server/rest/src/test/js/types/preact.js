// SPDX-License-Identifier: Apache-2.0
// Types of the two functions of Preact that the page uses, for the type check alone.

/**
 * @param {string} tag
 * @param {?Object} properties
 * @param {...*} children
 * @return {!page.Element}
 */
export function h(tag, properties, ...children) {
  throw new Error(`no ${tag} ${properties} ${children}`);
}

/**
 * @param {!Array<*>} children
 * @param {!Element} parent
 * @return {void}
 */
export function render(children, parent) {
  throw new Error(`no ${children} ${parent}`);
}
