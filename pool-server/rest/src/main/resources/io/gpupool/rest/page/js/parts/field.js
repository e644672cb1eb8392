// SPDX-License-Identifier: Apache-2.0
// Labelled controls of forms.

import { h } from '../dom.js';

/**
 * Returns a text or number field that begins with `value`.
 *
 * @param {!page.FieldOptions} options
 * @return {!page.Element}
 */
export function field({ label, name, hint, unit, value, ...input }) {
  const id = `field-${name}`;
  return h(
    'div',
    { class: 'field', key: name },
    h('label', { for: id }, label),
    h(
      'span',
      { class: 'control' },
      h('input', {
        id,
        name,
        defaultValue: value,
        ...input,
        'aria-describedby': hint && `${id}-hint`,
      }),
      unit && h('span', { class: 'unit' }, unit),
    ),
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  );
}

/**
 * Returns a checkbox with its explanation.
 *
 * @param {!page.FieldOptions} options
 * @return {!page.Element}
 */
export function box({ label, name, hint, value = 'on', ...input }) {
  const id = `field-${name}-${value}`;
  return h(
    'div',
    { class: 'box', key: id },
    h('input', {
      type: 'checkbox',
      id,
      name,
      value,
      ...input,
      'aria-describedby': hint && `${id}-hint`,
    }),
    h('label', { for: id }, label),
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  );
}

/**
 * Returns a choice of one option; options are pairs of value and text.
 *
 * @param {!page.FieldOptions} options
 * @return {!page.Element}
 */
export function choice({ label, name, options, value, hint, ...select }) {
  const id = `field-${name}`;
  return h(
    'div',
    { class: 'field', key: name },
    h('label', { for: id }, label),
    h(
      'span',
      { class: 'control' },
      h(
        'select',
        { id, name, ...select, 'aria-describedby': hint && `${id}-hint` },
        options.map(([key, text]) =>
          h('option', { key, value: key, selected: key === value }, text),
        ),
      ),
    ),
    hint && h('p', { class: 'hint', id: `${id}-hint` }, hint),
  );
}
