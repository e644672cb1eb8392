// SPDX-License-Identifier: Apache-2.0
// The arithmetic of cutting and resizing partitions.

import { uncut } from '../cards.js';
import { GIB, MIB } from '../format.js';

/**
 * Returns the size that a form describes; memory is rounded to MiB.
 *
 * @param {(!FormData|!Map<string, string>)} data
 * @return {!page.Size}
 */
export function sizeFrom(data) {
  return {
    memoryBytes: Math.round((Number(data.get('memory')) * GIB) / MIB) * MIB,
    computePercent: Number(data.get('compute')),
  };
}

/**
 * Returns the size with which a new partition begins: half of the GPU, or the free rest of it.
 *
 * @param {!page.Card} card
 * @return {!page.Size}
 */
export function initialSize(card) {
  const room = uncut(card);
  return {
    memoryBytes: Math.min(room.memoryBytes, Math.floor(card.gpu.memoryBytes / 2 / MIB) * MIB),
    computePercent: Math.min(room.computePercent, 50),
  };
}

/**
 * Returns the size to which a partition can grow.
 *
 * @param {!page.Card} card
 * @param {!rest.Partition} partition
 * @return {!page.Size}
 */
export function largestSize(card, partition) {
  const room = uncut(card);
  return {
    memoryBytes: room.memoryBytes + partition.size.memoryBytes,
    computePercent: room.computePercent + partition.size.computePercent,
  };
}

/**
 * Returns a card as it is after one of its partitions was resized.
 *
 * @param {!page.Card} card
 * @param {string} name
 * @param {!page.Size} size
 * @return {!page.Card}
 */
export function resized(card, name, size) {
  const partitions = card.partitions.map(({ partition, shares }) => ({
    shares,
    partition: partition.ref.name === name ? { ...partition, size } : partition,
  }));
  return { gpu: card.gpu, partitions, loose: card.loose };
}
