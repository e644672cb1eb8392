// SPDX-License-Identifier: Apache-2.0
// Tables that can be sorted by a column's head and filtered by a text. On a narrow page each row
// becomes a block in which the columns' heads stand before the values.

import { h } from '../dom.js';

/**
 * Remembers how one table is sorted and filtered.
 *
 * columns: {head, cell(row), order(row)?, class?, action?}; rows are told apart by `key`.
 */
export function sortable({ name, columns, key, filter, empty }) {
  let by = -1;
  let isDown = false;
  let text = '';

  function sort(column, redraw) {
    isDown = by === column && !isDown;
    by = column;
    redraw();
  }

  function arranged(rows) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) => {
      const all = filter(row).join(' ').toLowerCase();
      return words.every((word) => all.includes(word));
    });
    if (by >= 0) {
      const order = columns[by].order;
      found.sort((a, b) => compare(order(a), order(b)) * (isDown ? -1 : 1));
    }
    return found;
  }

  return (rows, redraw) => {
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
            oninput: (event) => {
              text = event.target.value;
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
  };

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
}

/** L9 before L10. */
function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number'
    ? a - b
    : String(a).localeCompare(String(b), 'en', { numeric: true });
}
