// SPDX-License-Identifier: Apache-2.0
// Tables that can be sorted by a column's head and filtered by a text. On a narrow page each row
// becomes a block in which the columns' heads stand before the values.

import { h } from '../dom.js';
import { matching, sorted } from './arrange.js';

/**
 * Returns a function that draws one table, and remembers how it is sorted and filtered.
 *
 * @param {!page.TableOptions<T>} options
 * @return {function(!Array<T>, function(): void): !Array<*>}
 * @template T
 */
export function sortable({ name, columns, key, filter, empty }) {
  let by = -1;
  let isDown = false;
  let text = '';

  /**
   * @param {number} column
   * @param {function(): void} redraw
   * @return {void}
   */
  function sort(column, redraw) {
    isDown = by === column && !isDown;
    by = column;
    redraw();
  }

  /**
   * @param {!Array<T>} rows
   * @return {!Array<T>}
   */
  function arranged(rows) {
    const found = matching(rows, text, filter);
    const order = columns[by]?.order;
    return order ? sorted(found, order, isDown) : found;
  }

  /**
   * @param {!Array<T>} rows
   * @param {function(): void} redraw
   * @return {!Array<*>}
   */
  function draw(rows, redraw) {
    const found = arranged(rows);
    return [
      rows.length > 0 &&
        h(
          'div',
          { class: 'tools', key: 'tools' },
          h('label', { for: `${name}-filter`, class: 'hidden' }, `Filter ${name}`),
          h('input', {
            id: `${name}-filter`,
            type: 'search',
            placeholder: `Filter ${name}`,
            oninput: (/** !Event */ event) => {
              text = /** @type {!HTMLInputElement} */ (event.target).value;
              redraw();
            },
          }),
          h(
            'span',
            { class: 'found', role: 'status' },
            text && `${found.length} of ${rows.length}`,
          ),
        ),
      found.length === 0
        ? h('p', { class: 'empty', key: 'empty' }, rows.length === 0 ? empty : 'Nothing matches.')
        : h(
            'table',
            { key: 'table' },
            h(
              'thead',
              null,
              h(
                'tr',
                null,
                columns.map((column, index) => head(column, index, redraw)),
              ),
            ),
            h(
              'tbody',
              null,
              found.map((row) =>
                h(
                  'tr',
                  { key: key(row) },
                  columns.map((column) => cell(column, row)),
                ),
              ),
            ),
          ),
    ];
  }

  /**
   * @param {!page.Column<T>} column
   * @param {number} index
   * @param {function(): void} redraw
   * @return {!page.Element}
   */
  function head(column, index, redraw) {
    if (column.action) {
      return h(
        'th',
        { scope: 'col', class: 'action' },
        h('span', { class: 'hidden' }, column.head),
      );
    }
    return h(
      'th',
      {
        scope: 'col',
        class: column.class,
        'aria-sort': by === index ? (isDown ? 'descending' : 'ascending') : undefined,
      },
      column.order
        ? h(
            'button',
            { type: 'button', class: 'sort', onclick: () => sort(index, redraw) },
            column.head,
          )
        : column.head,
    );
  }

  /**
   * @param {!page.Column<T>} column
   * @param {T} row
   * @return {!page.Element}
   */
  function cell(column, row) {
    return h(
      'td',
      {
        class: column.action ? 'action' : column.class,
        'data-head': column.action ? undefined : column.head,
      },
      h('div', null, column.cell(row)),
    );
  }

  return draw;
}
