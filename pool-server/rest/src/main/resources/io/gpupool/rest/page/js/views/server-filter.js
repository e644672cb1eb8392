// SPDX-License-Identifier: Apache-2.0
// The filter of the pool's servers.

import { sharesOf } from '../cards.js';

/**
 * Returns whether a text finds a server: by its name, its GPUs' models, or their leases.
 *
 * @param {!rest.Server} server
 * @param {!Array<!page.Card>} cards
 * @param {string} text in lower case
 * @return {boolean}
 */
export function isFound(server, cards, text) {
  const own = cards.filter(({ gpu }) => gpu.server === server.name);
  const words = [server.name, ...own.flatMap(wordsOf)];
  return words.some((word) => word.toLowerCase().includes(text));
}

/**
 * @param {!page.Card} card
 * @return {!Array<string>}
 */
function wordsOf(card) {
  return [
    card.gpu.name,
    ...sharesOf(card).flatMap(({ lease: { id, tenant, holder } }) => [
      id,
      tenant,
      holder.user,
      holder.program,
    ]),
  ];
}
