// SPDX-License-Identifier: Apache-2.0
// Columns that fields of resources declare, among those that are written for a table.

import { bytes, count, duration, nanos, percent } from '../format.js';

/** @type {!Object<string, function(number): string>} */
const UNITS = { count, rate: count, bytes, percent, nanos, millis: duration };

/**
 * Returns the columns of a table: those given, in which a head stands for a declared column, then
 * declared columns that they do not name, then those with actions.
 *
 * @param {!Array<!page.DeclaredColumn>} declared
 * @param {function(T, string): number} grown returns the value of a field that grows
 * @param {!Array<(string|!page.Column<T>)>} given
 * @return {!Array<!page.Column<T>>}
 * @template T
 */
export function withDeclared(declared, grown, given) {
  const byHead = new Map(declared.map((each) => [each.head, column(each, grown)]));
  const placed = given.map((each) => {
    if (typeof each !== 'string') {
      return each;
    }
    const found = byHead.get(each);
    byHead.delete(each);
    return found;
  });
  return [
    ...placed.filter((each) => !each.action),
    ...byHead.values(),
    ...placed.filter((each) => each.action),
  ];
}

/**
 * Returns the declared values of a resource that is not in a table, such as "up 3 min".
 *
 * @param {!Array<!page.DeclaredColumn>} declared
 * @param {?} resource
 * @param {function(string): number} grown returns the value of a field that grows
 * @return {!Array<string>}
 */
export function facts(declared, resource, grown) {
  return declared
    .filter((each) => resource[each.field] !== undefined)
    .map((each) => `${each.head.toLowerCase()} ${text(each, resource, grown)}`);
}

/**
 * @param {!page.DeclaredColumn} declared
 * @param {function(T, string): number} grown
 * @return {!page.Column<T>}
 * @template T
 */
function column(declared, grown) {
  /**
   * @param {T} resource
   * @return {function(string): number}
   */
  const of = (resource) => (field) => grown(resource, field);
  return {
    head: declared.head,
    class: declared.number ? 'number' : undefined,
    order: (resource) => value(declared, resource, of(resource)) ?? '',
    cell: (resource) => text(declared, resource, of(resource)),
  };
}

/**
 * @param {!page.DeclaredColumn} declared
 * @param {?} resource
 * @param {function(string): number} grown
 * @return {(number|string|undefined)}
 */
function value({ field, grows }, resource, grown) {
  return grows ? grown(field) : resource[field];
}

/**
 * @param {!page.DeclaredColumn} declared
 * @param {?} resource
 * @param {function(string): number} grown
 * @return {string}
 */
function text(declared, resource, grown) {
  const shown = value(declared, resource, grown);
  return typeof shown === 'number' ? (UNITS[declared.unit] ?? String)(shown) : String(shown ?? '');
}
